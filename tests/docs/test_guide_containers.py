"""Follows docs/guides/containers.md with real containers, and checks what `muster check` says when something is wrong with them."""
import os
import re
import shlex
import shutil
import subprocess

import pytest
from tests.docs.pages import ROOT, take
from tests.setup.podman import ID, Podman, is_installed
from tests.train import digits
from tests.waiting import patient, until

PAGE = "docs/guides/containers.md"
RUN = "$ podman exec launcher muster run -H launcher,worker1,worker2 --engine "
JOB = take(PAGE, "mkdir -p job/MNIST")
BUNDLE = take(PAGE, "$ muster setup --bundle ")
START = take(PAGE, "export CONTAINER_ENGINE=podman ")
CHECK = take(PAGE, "$ podman exec launcher muster check ")
TRAIN = take(PAGE, f"{RUN}openmpi ")
RUNS = take(PAGE, "XDG_STATE_HOME=")
INTEL = take(PAGE, "export IMAGE=muster-job-intel")
INTEL_TRAIN = take(PAGE, f"{RUN}intel ")
FROM_HOST = take(PAGE, "mkdir -p -m 700 ~/.ssh")
HOST_TRAIN = take(PAGE, "$ muster run -H worker1,worker2 --engine torchrun ")
CLEAN_UP = take(PAGE, "podman rm -f -t 0 launcher worker1 worker2")

HOSTS = ("launcher", "worker1", "worker2")
IMAGES = ("muster-job", "muster-job-intel")
PRIVATE_HOME = "mount -t tmpfs -o mode=700 none /root && mkdir -m 700 /root/.ssh && export HOME=/root\n"

pytestmark = [pytest.mark.campaign, pytest.mark.skipif(not is_installed(), reason="needs podman with runc, netavark and iptables")]


@pytest.fixture(scope="module")
def podman(tmp_path_factory):
    podman = Podman(tmp_path_factory.mktemp("podman"))
    podman.make_images()
    yield podman
    podman.remove_all()


class Reader:
    """Types the commands of the page, in one directory and with one environment."""

    def __init__(self, podman, folder, muster):
        self.podman, self.folder = podman, folder
        (folder / "bin").mkdir()
        (folder / "bin/muster").symlink_to(muster)
        (folder / "muster").symlink_to(ROOT)
        (folder / "MNIST/raw").mkdir(parents=True)
        found = digits.digits()
        digits.idx(folder / "MNIST/raw", "train", found[:4000])
        digits.idx(folder / "MNIST/raw", "t10k", found[4000:])
        self.env = {**podman.env, "HOME": str(folder), "PATH": f"{folder}/bin:{os.environ['PATH']}"}

    def sh(self, script, code=0, private_home=False):
        words = ["unshare", "--mount", "bash", "-euc", PRIVATE_HOME + script] if private_home else ["bash", "-euc", script]
        done = subprocess.run(words, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(120))
        print(f"$ {script}\n{done.stdout}{done.stderr}")
        assert done.returncode == code, done
        return done.stdout + done.stderr

    def type(self, lines):
        """Types a block of commands, or one command whose output must contain the lines on the page. Exported variables stay set for later
        blocks."""
        for line in lines:
            for name, value in re.findall(r"(\w+)=(\S+)", line) if line.startswith("export ") else ():
                self.env[name] = value
        if not lines[0].startswith("$ "):
            return self.sh("\n".join(lines))
        said = self.sh(lines[0][2:])
        shown = [alike(line.replace("/root/", f"{self.folder}/")) for line in lines[1:] if line != "..."]
        left = iter(alike(line) for line in said.splitlines())
        for line in shown:
            assert line in left, f"not printed, or not in this order: {line}"
        return said

    def until_workers_listen(self):
        for name in HOSTS[1:]:
            until(f"{name} listens", lambda: "Server listening on 0.0.0.0 port 12345" in self.logs(name), 20)

    def logs(self, name):
        done = self.podman("logs", name)
        return done.stdout + done.stderr

    def muster(self, *words, code=0):
        return self.sh("podman exec launcher muster " + " ".join(words), code)


def alike(line):
    """Returns the line without its decimal numbers, which differ from run to run."""
    return re.sub(r"\d+\.\d+", "#", line)


@pytest.fixture
def reader(podman, tmp_path, muster):
    reader = Reader(podman, tmp_path, muster)
    yield reader
    for name in HOSTS:
        print(name, podman("logs", name))
    podman("rm", "-f", "-t", "0", *HOSTS)
    podman("network", "rm", "muster")


@pytest.fixture
def started(reader):
    reader.type(JOB)
    reader.type(BUNDLE)
    reader.type(START)
    reader.until_workers_listen()
    return reader


def accuracy(said):
    return float(re.search(r"epoch 2 of 2: .*accuracy ([\d.]+)%", said)[1])


def test_the_guide(started):
    """Follows the guide from the bundle to a trained network, twice, and removes everything again."""
    reader, podman = started, started.podman
    for name in HOSTS[1:]:
        assert podman.said("exec", name, "sh", "-c", "stat -c %u /proc/1; tr '\\0' ' ' < /proc/1/cmdline").split()[0] == str(ID)
    reader.type(CHECK)
    assert accuracy(reader.type(TRAIN)) > 70
    reader.type(INTEL)
    reader.until_workers_listen()
    said = reader.type(INTEL_TRAIN)
    assert accuracy(said) > 70 and "Intel MPI" in said
    assert len(re.findall(r"mnist_ddp\.py", reader.type(RUNS))) >= 2, "runs of removed containers are kept"
    # Ends the connections, which would otherwise stay open for minutes.
    leave = [f"ssh -o ControlPath=/root/.ssh/muster/cm/%C -O exit {name}" for name in HOSTS[1:]]
    forget = ["muster rm last", 'test -z "$(ls ~/.local/state/muster/runs)"', "muster setup --undo", "test ! -e ~/.ssh/muster"]
    said = reader.sh("\n".join([*FROM_HOST, HOST_TRAIN[0][2:], *leave, *forget]), private_home=True)
    assert all(name in said.split() for name in HOSTS[1:]), said
    assert HOST_TRAIN[2].startswith("[worker1:0] epoch 1 of 1: ") and alike(HOST_TRAIN[2]) in map(alike, said.splitlines())
    for name in IMAGES:
        podman.said("tag", name, f"{name}-kept")  # keep a copy for the other tests
    reader.type(CLEAN_UP)
    names = podman.said("images", "--format", "{{.Repository}}").split()
    for name in IMAGES:
        podman.said("tag", f"{name}-kept", name)
    assert not {f"localhost/{name}" for name in IMAGES} & set(names), names
    assert podman.said("ps", "-aq") == ""
    assert podman.said("network", "ls", "-q").split() == ["podman"]
    assert not {"bundle", "job"} & {path.name for path in reader.folder.iterdir()}


def test_intel_mpi_itself_and_without_its_environment(started):
    """Runs a collective of Intel MPI between the containers. Without libfabric, `check` predicts the job's failure."""
    reader, hosts = started, ",".join(HOSTS)
    job = f"-H {hosts} --engine intel -- IMB-MPI1 -npmin 3 -msglog 3:4 -iter 10 Allreduce"
    reader.type(INTEL)
    reader.until_workers_listen()
    assert "#processes = 3" in reader.muster("run", job)
    reader.env["IMAGE"] = "muster-job-unset"
    reader.type(INTEL[1:])
    reader.until_workers_listen()
    said = reader.muster("check", job, code=123)
    assert "cannot start in a rank: it does not find libfabric.so.1 [intelmpi-no-libfabric]" in " ".join(said.split())
    fix = re.search(r"--activate '(export LD_LIBRARY_PATH=[^']+)'", said)[1]
    reader.muster("run", "--activate", shlex.quote(fix), job)


def test_what_is_wrong_with_a_worker_is_found(started):
    reader, podman, hosts = started, started.podman, ",".join(HOSTS)
    check = ("check", "-H", hosts, "--engine", "openmpi", "--", "python3", "mnist_ddp.py")
    keys = reader.folder / "bundle/workers/worker1/authorized_keys"

    def said(code):
        podman("exec", "launcher", "sh", "-c", "rm -rf ~/.ssh/muster")  # so that the next check must log in again
        return reader.muster(*check, code=code)

    assert "ready to run" in said(0)
    os.chown(keys, 4711, 4711)  # a wrong owner
    found = said(123)
    assert "ssh-publickey-denied" in found and "sudo chown -R 1000:1000 workers/worker1" in found
    os.chown(keys, ID, ID)
    keys.chmod(0o666)  # a wrong mode
    found = said(123)
    assert "ssh-publickey-denied" in found and "sudo chmod 600 workers/worker1/authorized_keys" in found
    keys.chmod(0o600)
    assert "ready to run" in said(0)
    podman("rm", "-f", "-t", "0", "worker1", "worker2")
    config = keys.with_name("sshd_config")
    config.write_text(config.read_text().replace("Port 12345", "Port 12346"))  # a wrong port
    reader.env["SHM_SIZE"] = "32m"  # too little shared memory, which the check finds on worker2
    reader.sh("bundle/run-worker.sh worker1; bundle/run-worker.sh worker2")
    for name, port in (("worker1", 12346), ("worker2", 12345)):
        until(f"{name} listens", lambda: f"port {port}" in reader.logs(name), 20)
    found = said(123)
    found = " ".join(found.split())
    assert "ssh-connect-refused-or-timeout" in found and "Port in workers/worker1/sshd_config" in found
    assert "nccl-dev-shm-full" in found and "SHM_SIZE=1g ./run-worker.sh" in found


def test_scripts_refuse_files_of_another_owner(reader):
    reader.type(JOB)
    reader.type(BUNDLE)
    shutil.chown(reader.folder / "bundle/workers/worker1/ssh_host_ed25519_key", 0, 0)
    said = reader.sh("CONTAINER_ENGINE=podman bundle/run-worker.sh worker1", code=2)
    assert "must belong to 1000:1000" in said and "sudo chown -R 1000:1000" in said
