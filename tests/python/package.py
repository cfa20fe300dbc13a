"""Builds muster-torch, from the source distribution to an environment that contains it. Used by the tests and by
comparisons/python_backends."""
import os
import subprocess

from tests.mpi.mpis import DEPS
from tests.waiting import patient

TORCH_PYTHON = DEPS / "torch/bin/python"
ABIS = {"MUSTER_OPENMPI": DEPS / "openmpi", "MUSTER_MPICH": DEPS / "mpich"}
# Libraries that belong to PyTorch or to the user's MPI, so the wheel does not contain them.
NOT_OURS = ["libtorch*.so*", "libc10*.so*", "libmpi*.so*"]


def must(words, **options):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def make_package(root, folder):
    """Makes the source distribution in `folder`, the portable wheel in its subfolder dist/, and venv/, which contains the wheel and
    can import PyTorch."""
    make_wheel(make_sdist(root, folder), folder)
    make_venv(folder)


def make_sdist(root, folder):
    must([TORCH_PYTHON, "-c", "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])", folder], cwd=root, timeout=patient(60))
    (made,) = folder.glob("muster_torch-*.tar.gz")
    return made


def make_wheel(sdist, folder):
    """Builds the wheel from the source distribution alone, packed or unpacked, with the PyTorch that it is for."""
    defines = [f"--config-settings=cmake.define.{name}={value}" for name, value in ABIS.items()]
    must([TORCH_PYTHON, "-m", "pip", "wheel", "--quiet", "--no-cache-dir", "--no-deps", "--no-index", "--no-build-isolation", *defines, "-w", folder / "raw", sdist],
         timeout=patient(600))
    (raw,) = (folder / "raw").glob("muster_torch-*.whl")
    make_portable(raw, folder / "dist")


def make_portable(wheel, folder):
    """Writes the same wheel to the folder, with the tag of the oldest Linux on which it runs."""
    excludes = [word for name in NOT_OURS for word in ("--exclude", name)]
    must([DEPS / "tools/bin/auditwheel", "repair", *excludes, "-w", folder, wheel], timeout=patient(60),
         env=os.environ | {"PATH": f"{DEPS}/tools/bin:{os.environ['PATH']}"})


def make_venv(folder):
    """Makes a new environment that contains the wheel and can import PyTorch."""
    must([TORCH_PYTHON, "-m", "venv", folder / "venv"], timeout=patient(120))
    (site,) = folder.glob("venv/lib/python3*/site-packages")
    (torch_site,) = DEPS.glob("torch/lib/python3*/site-packages")
    (site / "torch.pth").write_text(f"{torch_site}\n")
    must([folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", *folder.glob("dist/*.whl")], timeout=patient(60))
