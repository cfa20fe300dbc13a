"""docs/guides/hostfile.md, typed as by a reader. Only the sources of data and weights differ, because the tests have no internet
access."""
import hashlib
import re
import subprocess
import tarfile

import pytest
from tests.docs.guide import Reader
from tests.docs.pages import ROOT, take
from tests.run.launchers import DEPS
from tests.torch.conftest import build  # noqa: F401  a fixture
from tests.train.conftest import digits  # noqa: F401  a fixture
from tests.waiting import patient, until

pytestmark = pytest.mark.lab

PAGE = "docs/guides/hostfile.md"
TRAIN = "$ muster train resnet50 --hostfile hostfile --nnodes 2 --nproc_per_node 2 --dataset_dir ~/cifar10 --output_dir "
HOSTS, NAMES = take(PAGE, "$ printf 'n1"), take(PAGE, "$ muster exec --hostfile ")
DATA = take(PAGE, "$ mkdir -p ~/cifar10")
TRY, TRAIN_ALL, FETCH = take(PAGE, f"{TRAIN}~/resnet50 --batch_size 16 --max_steps 4"), take(PAGE, f"{TRAIN}~/cifar10-resnet50"), take(PAGE, "$ muster sync -H n1 --back ")
CONTINUE, FRESH = take(PAGE, "$ muster exec -H n1 'rm "), take(PAGE, f"{TRAIN}~/resnet50 --batch_size 16 --max_steps 1")
WEIGHTS = take(PAGE, "$ curl -fsSLO ")
PORT = take(PAGE, "$ muster check ")

ARCHIVE, WEIGHTS_FILE = "cifar-10-binary.tar.gz", "resnet50-0676ba61.pth"
SAVE_PTH = "import sys, torch; from safetensors.torch import load_file; torch.save(load_file(sys.argv[1]), sys.argv[2])"


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def hash_in(lines):
    """Returns the SHA-256 in a block."""
    (found,) = re.findall(r"\b[0-9a-f]{64}\b", "\n".join(lines))
    return found


@pytest.fixture(scope="module")
def internet(digits, tmp_path_factory):  # noqa: F811
    """A folder with an archive of 400 training and 40 test images, in place of the internet."""
    folder = tmp_path_factory.mktemp("internet")
    batches = folder / "cifar-10-batches-bin"
    batches.mkdir()
    for name, count in [*((f"data_batch_{number}", 80) for number in range(1, 6)), ("test_batch", 40)]:
        (batches / f"{name}.bin").write_bytes((digits / f"cifar10/{name}.bin").read_bytes()[:count * 3073])
    with tarfile.open(folder / ARCHIVE, "w:gz") as archive:
        archive.add(batches, batches.name)
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def lab(module_lab_up, internet):
    return module_lab_up(hosts=2, share=internet)


@pytest.fixture(scope="module")
def reader(lab, internet):
    """A reader who has set up the hosts and copied the data to them."""
    reader = Reader(lab, PAGE, {"https://www.cs.toronto.edu/~kriz": f"file://{internet}", hash_in(DATA): sha256(internet / ARCHIVE)}, within=200)
    reader.terminal.run("cd")
    for block in (HOSTS, NAMES, DATA):
        reader(block)
    yield reader
    reader.close()


def test_data_is_on_all_hosts(reader, lab):
    for host in lab.hosts:
        assert len(lab.shell(host, "ls ~/cifar10/cifar-10-batches-bin").split()) == 6


def test_a_damaged_archive_is_noticed(reader, lab):
    lab.shell("launcher", f"mkdir -p ~/damaged; head -c 5000 ~/cifar10/{ARCHIVE} > ~/damaged/{ARCHIVE}")
    said = reader.terminal.run(next(line[2:] for line in DATA if "sha256sum" in line).replace("$HOME/cifar10", "$HOME/damaged"))
    assert "FAILED" in said, said


def test_a_port_in_use(reader, lab):
    """muster names the process, and the command that muster prints ends it."""
    listener = subprocess.Popen(lab.words("n1", "/usr/bin/python3", "-m", "http.server", "29500"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until("the port is in use", lambda: ":29500" in lab.shell("n1", "ss -Hltn"), 20)
        said = reader(PORT, code=123)
        (end_it,) = re.findall(r"muster exec -H n1 -- 'kill \d+'", "\n".join(said))
        reader.terminal.run(end_it)
        until("the port is free", lambda: ":29500" not in lab.shell("n1", "ss -Hltn"), 20)
        assert "master-port-in-use" not in reader.terminal.run(PORT[0][2:])
    finally:
        listener.kill()
        listener.wait(timeout=patient(10))


@pytest.mark.campaign  # trains a ResNet-50 several times
def test_training_continuing_and_a_fresh_start(reader, build, lab):  # noqa: F811
    reader(TRY)
    reader(TRAIN_ALL, "--epochs", "1", "--max_steps", "1", "--batch_size", "16")
    reader(FETCH)
    reader(CONTINUE)
    reader(FRESH)
    assert lab.shell("n2", "ls ~/resnet50/checkpoints").split() == ["set-aside-1", "step-000000000001"]


@pytest.mark.campaign
def test_weights_from_elsewhere(reader, build, lab, internet):  # noqa: F811
    python, made = DEPS / "torch/bin/python", internet / "made.safetensors"
    subprocess.run([python, ROOT / "tests/train/resnet_twin.py", "weights", "resnet50", "1000", made], check=True, timeout=patient(60))
    subprocess.run([python, "-c", SAVE_PTH, made, internet / "made.pth"], check=True, timeout=patient(60))
    digest = sha256(internet / "made.pth")
    name = WEIGHTS_FILE.replace("0676ba61", digest[:8])
    (internet / "made.pth").rename(internet / name)
    lab.write("launcher", f"/home/{lab.user}/to_safetensors.py", (ROOT / "examples/python/to_safetensors.py").read_text())
    reader.changes |= {"https://download.pytorch.org/models": f"file://{internet}", hash_in(WEIGHTS): digest, WEIGHTS_FILE: name, "python3 ": f"{python} "}
    lines = [line.replace(WEIGHTS_FILE, name) if line.endswith(": OK") else line for line in WEIGHTS]
    reader(lines, "--epochs", "1", "--max_steps", "1", "--batch_size", "16")
