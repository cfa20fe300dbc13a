"""docs/guides/message-passing.md, typed as by a reader: with mpirun in CI, with torchrun and Slurm in a campaign."""
import pytest
from tests.docs.guide import Reader
from tests.docs.pages import ROOT, take
from tests.run.launchers import DEPS
from tests.run.slurm import Slurm

pytestmark = pytest.mark.lab

PAGE = "docs/guides/message-passing.md"
HOSTS = take(PAGE, "$ printf 'hosts: ")
TORCHRUN, MPIRUN = take(PAGE, "$ muster run --engine torchrun --sync any_launcher.py"), take(PAGE, "$ muster run -np 4 ")
RESNET = take(PAGE, "$ muster run --engine torchrun --sync resnet.py")
SLURM = take(PAGE, "$ salloc ")
BARE = take(PAGE, "$ torchrun ")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slurm")
    folder.chmod(0o1777)
    return folder


@pytest.fixture(scope="module")
def lab(module_lab_up, shared):
    """PyTorch is in ~/venv on all hosts, and the scripts are in ~/job on the launcher."""
    lab = module_lab_up(hosts=2, share=shared)
    for host in ("launcher", *lab.hosts):
        lab.shell(host, f"ln -s {DEPS}/torch ~/venv; mkdir -p ~/job")
    for name in ("any_launcher.py", "resnet.py"):
        lab.write("launcher", f"/home/{lab.user}/job/{name}", (ROOT / "examples/python" / name).read_text())
    return lab


@pytest.fixture(scope="module")
def reader(lab):
    """A reader who has set up the hosts and copied the scripts to them."""
    reader = Reader(lab, PAGE, within=100)
    reader(HOSTS)
    yield reader
    reader.close()


def test_message_passing_with_mpirun(reader):
    reader.terminal.run("muster sync ~/job")  # the previous section has done this
    reader(MPIRUN)


# Each test below takes 10 to 40 s. They run only in a campaign, to keep CI short.


@pytest.mark.campaign
def test_message_passing_with_torchrun(reader):
    reader(TORCHRUN)


@pytest.mark.campaign
def test_a_resnet_with_both(reader):
    reader(RESNET)


@pytest.mark.campaign
def test_both_on_slurm(reader, lab, shared):
    reader.terminal.run("muster sync ~/job")
    Slurm(lab, shared)
    reader(SLURM)


@pytest.mark.campaign
def test_the_same_script_without_muster(reader):
    reader.terminal.run("VIRTUAL_ENV_DISABLE_PROMPT=1; source ~/venv/bin/activate")
    reader(BARE)
    reader.terminal.run("deactivate")
