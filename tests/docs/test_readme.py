"""The commands of README.md, taken from its text, do what it says."""
import re

import pytest
from tests.docs.pages import ROOT, take
from tests.docs.terminal import Terminal
from tests.run.launchers import DEPS
from tests.waiting import line_given_time, patient

pytestmark = pytest.mark.lab

(TRAIN_HERE,) = take("README.md", "muster run -n 2 ")
(CONFIGURATION,) = take("README.md", "printf 'hosts: ")
SETUP, CHECK, TRAIN = take("README.md", "muster setup")
FINDING = take("README.md", "ERROR ")
_, LAB_UP, _ = take("README.md", "sudo tools/install_deps --lab")
LAB_SETUP, LAB_CHECK, LAB_RUN = take("README.md", "muster setup -H n[1-3]")


@pytest.fixture(scope="module")
def lab(module_lab_up, bare_root):
    """Two hosts named node1 and node2 with only sshd and PyTorch in ~/venv: no MPI, no rsync, no muster."""
    lab = module_lab_up(hosts=2, rootfs=bare_root, share=DEPS / "torch")
    for host in ("launcher", *lab.hosts):
        lab.shell(host, "sed -E 's/\\bn([12])\\b/node\\1/g' /etc/hosts > /tmp/names; cat /tmp/names >> /etc/hosts", root=True)
        lab.shell(host, f"ln -s {DEPS}/torch ~/venv")
    for name in ("mnist_ddp.py", "train.py"):
        lab.write("launcher", f"/home/{lab.user}/{name}", (ROOT / "examples/python/mnist_ddp.py").read_text())
    lab.shell("launcher", "mkdir -p ~/job/examples/python; cd ~/job; mv ~/mnist_ddp.py examples/python; mv ~/train.py .")
    return lab


@pytest.fixture
def open_terminal():
    """Yields open_terminal(lab), which returns a Terminal on its launcher."""
    opened = []

    def get(lab):
        opened.append(Terminal(lab.words("launcher", "bash", "--norc", "-i"), lab.password, within=patient(60)))
        return opened[-1]

    yield get
    for terminal in opened:
        terminal.close()


@pytest.fixture
def terminal(open_terminal, lab):
    return open_terminal(lab)


def test_quick_start_on_this_machine(terminal):
    terminal.run("VIRTUAL_ENV_DISABLE_PROMPT=1; source ~/venv/bin/activate")
    said = terminal.run(line_given_time(TRAIN_HERE))
    assert "2 ranks on localhost" in said and re.search(r"^\[localhost:0\] epoch 3 of 3: ", said, re.M), said
    assert terminal.run("echo $?").endswith("\n0\n")


def test_quick_start_on_two_machines(terminal):
    terminal.run(CONFIGURATION)
    said = terminal.run(SETUP)
    assert "all 2 hosts can be reached" in said, said
    said = terminal.run(line_given_time(CHECK.replace(" --sync", "")))  # the script is not on the hosts yet
    assert "\n".join(FINDING) in said, said
    said = terminal.run(line_given_time(CHECK))
    assert "ERROR" not in said, said
    said = terminal.run(line_given_time(TRAIN))
    assert "2 ranks on node[1-2]" in said and re.search(r"^\[node1:0\] epoch 3 of 3: ", said, re.M), said
    assert terminal.run("echo $?").endswith("\n0\n")


def test_a_cluster_to_practise_on(lab_up, open_terminal):
    terminal = open_terminal(lab_up(hosts=int(re.fullmatch(r"sudo muster lab up --nodes (\d)", LAB_UP)[1])))
    said = terminal.run(LAB_SETUP)
    assert "all 3 hosts can be reached" in said, said
    said = terminal.run(line_given_time(LAB_CHECK))
    assert "3 of 3 hosts answered" in said and "ERROR" not in said, said
    said = terminal.run(line_given_time(LAB_RUN))
    ranks = sorted(re.findall(r"^\[(n\d):(\d)\] rank (\d) of 6$", said, re.M))
    assert ranks == [(f"n{rank // 2 + 1}", str(rank), str(rank)) for rank in range(6)], said
