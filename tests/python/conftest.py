"""The wheel as a user gets it: built from the source distribution, made portable, installed into an environment of its own."""
import os
import shutil
import subprocess
import venv as venvs

import pytest
from tests.conftest import locked
from tests.mpi.mpis import DEPS

TORCH_PYTHON = DEPS / "torch/bin/python"
ABIS = {"MUSTER_OPENMPI": DEPS / "openmpi", "MUSTER_MPICH": DEPS / "mpich"}
# They are there before it, or belong to the MPI that the user has.
NOT_OURS = ["libtorch*.so*", "libc10*.so*", "libmpi*.so*"]


def must(words, **options):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def package_folder(root, shared_folder):
    """Where everything about the package is; made once in a run."""
    folder = shared_folder / "package"
    with locked("package"):
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make_wheel(make_sdist(root, folder), folder)
            make_venv(folder)
            (folder / "complete").touch()
    return folder


def make_sdist(root, folder):
    must([TORCH_PYTHON, "-c", "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])", folder], cwd=root, timeout=60)
    (made,) = folder.glob("muster_torch-*.tar.gz")
    return made


def make_wheel(sdist, folder):
    """From the source distribution alone, by the PyTorch that it is for."""
    defines = [f"--config-settings=cmake.define.{name}={value}" for name, value in ABIS.items()]
    must([TORCH_PYTHON, "-m", "pip", "wheel", "--quiet", "--no-cache-dir", "--no-deps", "--no-index", "--no-build-isolation", *defines, "-w", folder / "raw", sdist],
         timeout=600)
    (raw,) = (folder / "raw").glob("muster_torch-*.whl")
    excludes = [word for name in NOT_OURS for word in ("--exclude", name)]
    must([DEPS / "tools/bin/auditwheel", "repair", *excludes, "-w", folder / "dist", raw], timeout=60,
         env=os.environ | {"PATH": f"{DEPS}/tools/bin:{os.environ['PATH']}"})


def make_venv(folder):
    """A new environment that sees PyTorch's and has the wheel."""
    venvs.EnvBuilder(with_pip=True, symlinks=True).create(folder / "venv")
    (site,) = folder.glob("venv/lib/python3*/site-packages")
    (torch_site,) = DEPS.glob("torch/lib/python3*/site-packages")
    (site / "torch.pth").write_text(f"{torch_site}\n")
    must([folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", *folder.glob("dist/*.whl")], timeout=60)


@pytest.fixture(scope="session")
def sdist(package_folder):
    return next(package_folder.glob("muster_torch-*.tar.gz"))


@pytest.fixture(scope="session")
def wheel(package_folder):
    return next(package_folder.glob("dist/muster_torch-*.whl"))


@pytest.fixture(scope="session")
def venv(package_folder):
    return package_folder / "venv"


@pytest.fixture(scope="session")
def python(venv):
    return venv / "bin/python"


@pytest.fixture(scope="module")
def host(venv, module_lab_up, tmp_path_factory):
    """A lab with one host, whose network MPI and Gloo may listen on; `shared` is a folder that it and the test see."""
    shared = tmp_path_factory.mktemp("shared")
    shared.chmod(0o777)  # the ranks are the lab's user
    lab = module_lab_up(hosts=1, share=shared)
    lab.shared = shared
    return lab
