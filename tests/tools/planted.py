"""Shared by the tests of tools/check_*: a small tree with a fault in it, and the tool's output."""
import subprocess
import sys

from tests.waiting import patient


def write(tree, name, text):
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def checker(tool):
    """Returns check(root, tree), which runs the tool of the source tree `root` on `tree`."""
    return lambda root, tree: subprocess.run([sys.executable, root / "tools" / tool, "--root", tree],
                                             capture_output=True, text=True, timeout=patient(30))


def assert_named(ended, place, says):
    assert ended.returncode == 1
    assert any(line.startswith(place) and says in line for line in ended.stdout.splitlines()), ended.stdout
