"""Programs and libraries where hosts of a lab see them."""
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def staged(build: Path, *programs: Path, folder="bin"):
    """The programs in a folder, and the build's libraries in ../lib, as installed; for labs that come up after this."""
    root = Path(tempfile.mkdtemp(prefix="muster-test-", dir="/opt"))
    root.chmod(0o755)
    shutil.copytree(build / "lib", root / "lib", symlinks=True)
    (root / folder).mkdir(parents=True)
    for program in programs:
        shutil.copy(program, root / folder)
    subprocess.run(["chmod", "-R", "a+rX", root], check=True)  # the ranks on lab hosts are another user's
    yield root / folder
    shutil.rmtree(root)
