"""Copies programs and libraries to a place that lab hosts can see."""
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def staged(build: Path, *programs: Path, folder="bin"):
    """Yields a folder with the programs, and the build's libraries in ../lib, as in an installation. Labs must start
    after it exists."""
    root = Path(tempfile.mkdtemp(prefix="muster-test-", dir="/opt"))
    root.chmod(0o755)
    shutil.copytree(build / "lib", root / "lib", symlinks=True)
    (root / folder).mkdir(parents=True)
    for program in programs:
        shutil.copy(program, root / folder)
    subprocess.run(["chmod", "-R", "a+rX", root], check=True)  # ranks on lab hosts run as another user
    yield root / folder
    shutil.rmtree(root)
