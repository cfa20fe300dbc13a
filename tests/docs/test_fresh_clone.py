"""Follows README.md from a fresh clone on a bare Debian 12. campaigns/readme makes that system and runs this
test."""
import os
import re
import shutil
import time
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, take
from tests.docs.terminal import Terminal
from tests.run.launchers import DEPS

MOST_S = 360
INSTALL = take("README.md", "sudo tools/install_deps --build")
(TRAIN,) = take("README.md", "muster run -n 2 ")
DEPENDENCIES, UP, SHELL = take("README.md", "sudo tools/install_deps --lab")
SETUP, CHECK, RUN = take("README.md", "muster setup -H n[1-3]")


class Reader:
    """Types the commands of README.md and prints a table row for each."""

    def __init__(self, terminal):
        self.terminal, self.seconds = terminal, 0.0

    def follow(self, command):
        start = time.monotonic()
        said = self.terminal.run(command)
        took = time.monotonic() - start
        self.seconds += took
        print(f"| `{command}` | {took:.1f} s |")
        assert self.terminal.run("echo exit code $?").endswith("\nexit code 0\n"), said
        return said


@pytest.fixture
def reader():
    """A Reader in the clone $MUSTER_FRESH_CLONE/home/reader/muster, as an ordinary user who may use sudo."""
    if "MUSTER_FRESH_CLONE" not in os.environ:
        pytest.skip("run campaigns/readme, which makes the bare system")
    enter = [ROOT / "campaigns/in_bare_debian", os.environ["MUSTER_FRESH_CLONE"], "exec su - reader"]
    terminal = Terminal(enter, password="", within=1800)
    terminal.run("cd ~/muster")
    yield Reader(terminal)
    terminal.close()


def bring_pytorch(terminal):
    """Makes ~/venv, as `pip install torch` would."""
    shutil.copytree(DEPS / "torch", Path(os.environ["MUSTER_FRESH_CLONE"]) / str(DEPS / "torch")[1:], symlinks=True)
    terminal.run(f"ln -s {DEPS}/torch ~/venv; VIRTUAL_ENV_DISABLE_PROMPT=1; source ~/venv/bin/activate")


@pytest.mark.campaign
def test_from_a_clone_to_a_training_and_a_lab(reader):
    for command in INSTALL:
        reader.follow(command)

    bring_pytorch(reader.terminal)
    said = reader.follow(TRAIN)
    assert "2 ranks on localhost" in said and re.search(r"^\[localhost:0\] epoch 3 of 3: ", said, re.M), said

    reader.follow(DEPENDENCIES)
    said = reader.follow(UP)
    reader.terminal.password = re.search(r"password (\S+)", said)[1]
    reader.terminal.enter(SHELL)
    reader.follow(SETUP)
    said = reader.follow(CHECK)
    assert "3 of 3 hosts answered" in said and "ERROR" not in said, said
    said = reader.follow(RUN)
    assert len(re.findall(r"^\[n\d:\d\] rank \d of 6$", said, re.M)) == 6, said

    print(f"| all of them | {reader.seconds:.0f} s |")
    assert reader.seconds < MOST_S
