"""The code blocks of docs/lab.md: the commands must do what the page says."""
import re
import shlex
import subprocess
import uuid

import pytest
from tests.bare_root import WANTED
from tests.docs.pages import take, with_other
from tests.waiting import patient

pytestmark = pytest.mark.lab

LAB_UP, LAB_SHELL, LAB_EXEC, LAB_STATUS, LAB_DOWN = take("docs/lab.md", "muster lab up --nodes 4")
LIKE_UP, LIKE_SEE, LIKE_BREAK, LIKE_MEND = take("docs/lab.md", "muster lab up --nodes 2 --like ")
DEBIAN, DEBIAN_UP = take("docs/lab.md", "mmdebstrap ")


@pytest.fixture
def named(muster):
    """Yields named(line), which runs the line with a name for the lab. The lab is removed
    afterwards."""
    name = "t" + uuid.uuid4().hex[:8]

    def run(line, **options):
        words = shlex.split(with_other(line, r"^muster lab (\w+)", rf"{muster} lab \1 --name {name}"))
        done = subprocess.run(words, capture_output=True, text=True, timeout=patient(60), **options)
        assert done.returncode == 0, done
        return done.stdout

    yield run
    subprocess.run([muster, "lab", "down", "--name", name], capture_output=True, timeout=patient(60))


def test_a_lab(named):
    named(LAB_UP)
    assert named(LAB_SHELL, input="hostname; id -un; exit\n").split() == ["launcher", "dev"]
    assert named(LAB_EXEC) == "n2\n"
    said = named(LAB_STATUS)
    assert re.findall(r"^(\S+) +up +connected ", said, re.M) == ["launcher", "n1", "n2", "n3", "n4"], said
    named(LAB_DOWN)
    with pytest.raises(AssertionError, match="no lab"):
        named(LAB_STATUS)


def test_a_lab_like_a_machine(named):
    state = "muster lab exec n2 -- cat /sys/class/infiniband/mlx5_5/ports/1/state"
    named(LIKE_UP)
    assert named(LIKE_SEE).count("NVIDIA H100") == 8
    named(LIKE_BREAK)
    assert named(state) == "1: DOWN\n"
    named(LIKE_MEND)
    assert named(state) == "4: ACTIVE\n"


def test_a_lab_with_another_root(named, bare_root):
    """mmdebstrap needs the network, so the tests use another root with the same packages."""
    packages, root = re.fullmatch(r"mmdebstrap --variant=minbase --include=(\S+) bookworm (\S+)", DEBIAN).groups()
    assert {"apt", *packages.split(",")} == set(WANTED)
    named(with_other(DEBIAN_UP, re.escape(root) + "$", str(bare_root)))
    assert named("muster lab exec n2 -- sh -c 'hostname; command -v python3 rsync mpirun || true'").split() == ["n2", "/usr/bin/python3"]
