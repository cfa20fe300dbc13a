"""Emitted pods under podman: the template of a JobSet, wrapped as the Pods that Kubernetes would make of it. Not a cluster: no scheduler, no device plugin, and
the DNS name of the first pod comes late because the test adds it."""
import ipaddress
import json
import os
import re
import shutil
import subprocess
import uuid

import pytest
import yaml
from tests.docs.pages import ROOT
from tests.docs.test_pods_guide import PI, PI_SAYS
from tests.run.launchers import DEPS
from tests.waiting import patient, until

pytestmark = pytest.mark.campaign

SUBNET = ipaddress.ip_network("198.18.57.0/24")
ADDRESSES = [str(SUBNET[11]), str(SUBNET[12])]
SETTINGS = """\
[engine]
runtime = "runc"
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
"""


class Podman:
    """Names of its own, all of which it removes."""

    def __init__(self, folder):
        self.folder, self.mark = folder, "mt" + uuid.uuid4().hex[:6]
        (folder / "containers.conf").write_text(SETTINGS)
        self.files, self.volumes = [], []
        self.image, self.network = f"localhost/{self.mark}:1", self.mark
        self("network", "create", "--subnet", str(SUBNET), self.network)

    def __call__(self, *words, code=0, **options):
        done = subprocess.run(["podman", *map(str, words)], env={**os.environ, "CONTAINERS_CONF": str(self.folder / "containers.conf")},
                              capture_output=True, text=True, timeout=patient(120), **options)
        assert code is None or done.returncode == code, done
        return done.stdout + done.stderr

    def volume(self, name, folder):
        """A claim by this name that is bound to the folder."""
        self.volumes.append(f"{self.mark}-{name}")
        self("volume", "create", "--opt", "type=none", "--opt", "o=bind", "--opt", f"device={folder}", self.volumes[-1])
        return self.volumes[-1]

    def play(self, pod, address):
        path = self.folder / f"{pod['metadata']['name']}.yaml"
        path.write_text(yaml.safe_dump(pod))
        self.files.append(path)
        self("play", "kube", "--network", self.network, "--ip", address, path)

    def play_down(self):
        while self.files:
            self("play", "kube", "--down", self.files.pop(), code=None)

    def close(self):
        self.play_down()
        for volume in self.volumes:
            self("volume", "rm", "--force", volume, code=None)
        self("network", "rm", "--force", self.network, code=None)
        self("rmi", "--force", self.image, code=None)
        assert self.mark not in self("ps", "-a") + self("volume", "ls") + self("network", "ls") + self("images")


@pytest.fixture(scope="module")
def podman(muster, bare_root, tmp_path_factory):
    """With an image: a minimal Debian with Python, and muster. PyTorch and the examples are on volumes."""
    if shutil.which("podman") is None:
        pytest.skip("podman is not installed: apt-get install podman runc netavark aardvark-dns catatonit")
    podman = Podman(tmp_path_factory.mktemp("podman"))
    try:
        archive = podman.folder / "root.tar"
        subprocess.run(["tar", "-C", bare_root, "-cf", archive, "."], check=True, timeout=patient(120))
        shutil.copy(muster, podman.folder / "muster")
        subprocess.run(["tar", "-C", podman.folder, "--transform", "s,^,usr/local/bin/,", "-rf", archive, "muster"], check=True, timeout=patient(60))
        podman("import", "--change", f"ENV PATH={DEPS}/torch/bin:/usr/local/bin:/usr/bin:/bin", archive, podman.image)
        archive.unlink()
        yield podman
    finally:
        podman.close()


@pytest.fixture(scope="module")
def claims(podman):
    """The flags for PyTorch and the examples."""
    deps, examples = podman.volume("deps", DEPS), podman.volume("examples", ROOT / "examples/python")
    return ["--pvc", f"{deps}:{DEPS}", "--pvc", f"{examples}:/opt/examples"]


def pods_of(text):
    """The Pods that the controllers would make of the JobSet."""
    job_set = yaml.safe_load(text)
    name, (job,) = job_set["metadata"]["name"], job_set["spec"]["replicatedJobs"]
    for index in range(job["template"]["spec"]["parallelism"]):
        spec = json.loads(json.dumps(job["template"]["spec"]["template"]["spec"]))
        for variable in spec["containers"][0]["env"]:
            if "valueFrom" in variable:  # the annotation with the pod's number, which podman does not know
                del variable["valueFrom"]
                variable["value"] = str(index)
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{job['name']}-0-{index}"}, "spec": spec}


def run_pods(podman, text):
    """Plays the pods, gives them the name of the first one when all wait for it, and returns what each printed."""
    pods = list(pods_of(text))
    containers = [f"{pod['metadata']['name']}-node" for pod in pods]
    for pod, address in zip(pods, ADDRESSES):
        podman.play(pod, address)
    master = next(one["value"] for one in pods[0]["spec"]["containers"][0]["env"] if one["name"] == "PET_MASTER_ADDR")
    for container in containers:
        until(f"{container} waits for {master}", lambda: f"waiting for the name of the first pod, {master}" in podman("logs", container), within=60)
    for container in containers:
        podman("exec", container, "sh", "-c", f"echo '{ADDRESSES[0]} {master}' >> /etc/hosts")
    codes = [podman("wait", container).strip() for container in containers]
    said = [podman("logs", container) for container in containers]
    assert codes == ["0"] * len(pods), "\n".join(said)
    podman.play_down()
    print("\n".join(f"--- {container}\n{text}" for container, text in zip(containers, said)))
    return said


def emit(muster, *words):
    return subprocess.run([muster, "emit", "k8s", *words], check=True, capture_output=True, text=True, timeout=patient(30)).stdout


def test_pi_as_in_the_guide(muster, podman, claims):
    words = " ".join(PI).replace("\\", "").split(">")[0].split()
    words[words.index("--image") + 1] = podman.image
    at = words.index("--")
    first, second = run_pods(podman, emit(muster, *words[3:at], "--pull-policy", "Never", *claims, *words[at:]))
    for line in PI_SAYS:
        assert re.search(re.sub(r"3\\\.\d+", r"3\\.\\d+", re.escape(line)), first), (line, first)
    assert "pi is about" not in second


def test_two_pods_train(muster, podman, claims, tmp_path):
    """Real digits, with shared memory of its own, and a checkpoint on a claim."""
    subprocess.run([DEPS / "torch/bin/python", ROOT / "tests/train/digits.py", tmp_path / "data"], check=True, timeout=patient(120))
    data = podman.volume("data", tmp_path / "data")
    text = emit(muster, "--name", "mnist", "--image", podman.image, "--pull-policy", "Never", "-N", "2", "--shm", "256Mi", *claims, "--pvc", f"{data}:/data",
                "--", "python3", "/opt/examples/mnist_ddp.py", "--data", "/data/mnist", "--epochs", "3", "--checkpoint", "/data/mnist.pt")
    first, _ = run_pods(podman, text)
    reached = [float(one) for one in re.findall(r"epoch \d of 3: loss [\d.]+, accuracy ([\d.]+)%", first)]
    assert len(reached) == 3 and reached[-1] > 80, first
    assert (tmp_path / "data/mnist.pt").stat().st_size > 0
