"""The wheel, installed into a new environment as a user would do it, and a host to test it on."""
import shutil
from pathlib import Path

import pytest
from tests.conftest import made_once
from tests.python.package import make_package


@pytest.fixture(scope="session")
def package_folder(root, shared_folder):
    """Returns the folder with the package in all its forms (see make_package), made once per run."""
    return made_once(shared_folder / "package", lambda folder: make_package(root, folder))


@pytest.fixture(scope="session")
def scripts(package_folder):
    """Returns a copy of this folder, which has the ranks' programs, in a place that lab hosts can see. Labs must start after it exists."""
    return made_once(package_folder / "scripts", lambda folder: shutil.copytree(Path(__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True))


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
def host(venv, scripts, module_lab_up, tmp_path_factory):
    """Returns a lab with one host, on whose network MPI and Gloo may listen. Its `shared` is a folder that both the
    host and the test can see."""
    shared = tmp_path_factory.mktemp("shared")
    shared.chmod(0o777)  # the ranks run as the lab's user
    lab = module_lab_up(hosts=1, share=shared)
    lab.shared = shared
    return lab
