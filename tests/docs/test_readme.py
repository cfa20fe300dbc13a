"""The commands of README.md, taken from its text, do what it says."""
import re
from pathlib import Path

import pytest
from tests.docs.terminal import Terminal
from tests.run.launchers import DEPS
from tests.waiting import patient

pytestmark = pytest.mark.lab

ROOT = Path(__file__).parents[2]


def blocks(heading):
    """The code blocks below a heading, as lists of lines without comments."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", (ROOT / "README.md").read_text(), re.M | re.S)[1]
    found = re.findall(r"(?:^    .*\n)+", section, re.M)
    return [[re.sub(r"  +# .*", "", line[4:]) for line in block.splitlines()] for block in found]


@pytest.fixture(scope="module")
def lab(module_lab_up, bare_root):
    """Two hosts that are called node1 and node2 and have nothing but sshd and PyTorch in ~/venv: no MPI, no rsync, no muster."""
    lab = module_lab_up(hosts=2, root=bare_root, share=DEPS / "torch")
    for host in ("launcher", *lab.hosts):
        lab.shell(host, "sed -E 's/\\bn([12])\\b/node\\1/g' /etc/hosts > /tmp/names; cat /tmp/names >> /etc/hosts", root=True)
        lab.shell(host, f"ln -s {DEPS}/torch ~/venv")
    for name in ("mnist_ddp.py", "train.py"):
        lab.write("launcher", f"/home/{lab.user}/{name}", (ROOT / "examples/python/mnist_ddp.py").read_text())
    lab.shell("launcher", "mkdir -p ~/job/examples/python; cd ~/job; mv ~/mnist_ddp.py examples/python; mv ~/train.py .")
    return lab


@pytest.fixture
def open_terminal():
    """open_terminal(lab) -> Terminal on its launcher."""
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
    ((command,),) = blocks("Quick start: this machine")
    terminal.run("VIRTUAL_ENV_DISABLE_PROMPT=1; source ~/venv/bin/activate")
    said = terminal.run(command)
    assert "2 ranks on localhost" in said and re.search(r"^\[localhost:0\] epoch 3 of 3: ", said, re.M), said
    assert terminal.run("echo $?").endswith("\n0\n")


def test_quick_start_on_two_machines(terminal):
    (configuration,), (setup, check, run), error, _ = blocks("Quick start: two machines")
    terminal.run(configuration)
    said = terminal.run(setup)
    assert "all 2 hosts can be reached" in said, said
    said = terminal.run(check.replace(" --sync", ""))  # the script is not on the hosts yet
    assert "\n".join(error) in said, said
    said = terminal.run(check)
    assert "ERROR" not in said, said
    said = terminal.run(run)
    assert "2 ranks on node[1-2]" in said and re.search(r"^\[node1:0\] epoch 3 of 3: ", said, re.M), said
    assert terminal.run("echo $?").endswith("\n0\n")


def test_a_cluster_to_practise_on(lab_up, open_terminal):
    (_, up, _), (setup, check, run) = blocks("A cluster to practise on")
    terminal = open_terminal(lab_up(hosts=int(re.fullmatch(r"sudo muster lab up --hosts (\d)", up)[1])))
    said = terminal.run(setup)
    assert "all 3 hosts can be reached" in said, said
    said = terminal.run(check)
    assert "3 of 3 hosts answered" in said and "ERROR" not in said, said
    said = terminal.run(run)
    ranks = sorted(re.findall(r"^\[(n\d):(\d)\] rank (\d) of 6$", said, re.M))
    assert ranks == [(f"n{rank // 2 + 1}", str(rank), str(rank)) for rank in range(6)], said
