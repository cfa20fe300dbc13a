"""Emitted pods under podman: the JobSet's template, wrapped in the Pods that Kubernetes would make of it. This is not a cluster: there
is no scheduler and no device plugin, and the test itself adds the DNS name of the first pod later."""
import ipaddress
import json
import re
import shutil
import subprocess

import pytest
import yaml
from tests.docs.pages import ROOT
from tests.docs.test_pods_guide import PI, PI_SAYS
from tests.run.launchers import DEPS
from tests.setup.podman import Podman, is_installed
from tests.waiting import patient, until

pytestmark = [pytest.mark.campaign, pytest.mark.skipif(not is_installed() or shutil.which("catatonit") is None,
                                                       reason="needs podman with runc, netavark, iptables and catatonit")]

SUBNET = ipaddress.ip_network("198.18.57.0/24")
ADDRESSES = [str(SUBNET[11]), str(SUBNET[12])]
IMAGE, NETWORK = "example.org/team/train:1", "pods"


class Pods(Podman):
    """Runs pods in podman, with their own network and storage."""

    def __init__(self, top):
        super().__init__(top)
        self.files = []
        self.said("network", "create", "--subnet", str(SUBNET), NETWORK)

    def make_image(self, bare_root, muster):
        """Builds the guide's image: a minimal Debian with Python, muster and the examples. PyTorch comes from a volume that
        podman's settings mount in all containers."""
        archive, more = self.top / "root.tar", self.top / "more"
        (more / "usr/local/bin").mkdir(parents=True)
        shutil.copy(muster, more / "usr/local/bin")
        shutil.copytree(ROOT / "examples/python", more / "opt/examples")
        # The second call appends files, whose paths do not occur in the first part.
        for words in (["-cf", archive, "-C", bare_root, "."], ["-rf", archive, "-C", more, "usr/local/bin/muster", "opt/examples"]):
            subprocess.run(["tar", *words], check=True, timeout=patient(120))
        self.said("import", "--change", f"ENV PATH={DEPS}/torch/bin:/usr/local/bin:/usr/bin:/bin", str(archive), IMAGE)
        archive.unlink()

    def claim(self, name, folder):
        self.said("volume", "create", "--opt", "type=none", "--opt", "o=bind", "--opt", f"device={folder}", name)

    def logs(self, container):
        done = self("logs", container)
        return done.stdout + done.stderr

    def play(self, pod, address):
        path = self.top / f"{pod['metadata']['name']}.yaml"
        path.write_text(yaml.safe_dump(pod))
        self.files.append(path)
        self.said("play", "kube", "--network", NETWORK, "--ip", address, str(path))

    def play_down(self):
        while self.files:
            self("play", "kube", "--down", str(self.files.pop()))

    def close(self):
        self.play_down()
        self("volume", "rm", "--all", "--force")
        self.remove_all()
        left = [self.said(*words) for words in (("ps", "-aq"), ("pod", "ps", "-q"), ("volume", "ls", "-q"), ("images", "-q"))]
        networks = self.said("network", "ls", "-q").split()
        self.unmount()
        assert (left, networks) == ([""] * 4, ["podman"])


@pytest.fixture(scope="module")
def podman(muster, bare_root, tmp_path_factory):
    podman = Pods(tmp_path_factory.mktemp("podman"))
    try:
        podman.make_image(bare_root, muster)
        yield podman
    finally:
        podman.close()


def pods_of(text):
    """Yields the Pods that the controllers would make of the JobSet."""
    job_set = yaml.safe_load(text)
    name, (job,) = job_set["metadata"]["name"], job_set["spec"]["replicatedJobs"]
    for index in range(job["template"]["spec"]["parallelism"]):
        spec = json.loads(json.dumps(job["template"]["spec"]["template"]["spec"]))
        for variable in spec["containers"][0]["env"]:
            if "valueFrom" in variable:  # the annotation with the pod's number, which podman does not support
                del variable["valueFrom"]
                variable["value"] = str(index)
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{job['name']}-0-{index}"}, "spec": spec}


def run_pods(podman, text):
    """Runs the pods, adds the name of the first one when all wait for it, and returns the output of each."""
    pods = list(pods_of(text))
    containers = [f"{pod['metadata']['name']}-node" for pod in pods]
    for pod, address in zip(pods, ADDRESSES):
        podman.play(pod, address)
    master = next(one["value"] for one in pods[0]["spec"]["containers"][0]["env"] if one["name"] == "PET_MASTER_ADDR")
    for container in containers:
        until(f"{container} waits for {master}", lambda: f"waiting for the name of the first pod, {master}" in podman.logs(container), within=60)
    for container in containers:
        podman.said("exec", container, "sh", "-c", f"echo '{ADDRESSES[0]} {master}' >> /etc/hosts")
    codes = [podman.said("wait", container).strip() for container in containers]
    said = [podman.logs(container) for container in containers]
    assert codes == ["0"] * len(pods), "\n".join(said)
    podman.play_down()
    print("\n".join(f"--- {container}\n{text}" for container, text in zip(containers, said)))
    return said


def emit(muster, *words):
    return subprocess.run([muster, "emit", "k8s", *words], check=True, capture_output=True, text=True, timeout=patient(30)).stdout


def test_pi_as_in_the_guide(muster, podman):
    words = " ".join(PI).replace("\\", "").split(">")[0].split()
    assert words[:3] == ["muster", "emit", "k8s"]
    first, second = run_pods(podman, emit(muster, *words[3:]))
    for line in PI_SAYS:
        if line != "...":
            assert re.search(re.sub(r"3\\\.\d+", r"3\\.\\d+", re.escape(line)), first), (line, first)
    assert "pi is about" not in second


def test_two_pods_train(muster, podman, tmp_path):
    """Two pods train on real digits, with separate shared memory, and store a checkpoint on a claim."""
    subprocess.run([DEPS / "torch/bin/python", ROOT / "tests/train/digits.py", tmp_path / "data"], check=True, timeout=patient(120))
    podman.claim("data", tmp_path / "data")
    text = emit(muster, "--name", "mnist", "--image", IMAGE, "-N", "2", "--shm", "256Mi", "--pvc", "data:/data",
                "--", "python3", "/opt/examples/mnist_ddp.py", "--data", "/data/mnist", "--epochs", "3", "--checkpoint", "/data/mnist.pt")
    first, _ = run_pods(podman, text)
    reached = [float(one) for one in re.findall(r"epoch \d of 3: loss [\d.]+, accuracy ([\d.]+)%", first)]
    assert len(reached) == 3 and reached[-1] > 80, first
    assert (tmp_path / "data/mnist.pt").stat().st_size > 0
