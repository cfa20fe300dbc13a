"""libmuster as installed, moved to another folder, and used by a project outside this source tree."""
import shlex
import subprocess
from pathlib import Path

import pytest
from comparisons.comparison import OWN_NETWORK
from tests.run.launchers import MPI
from tests.waiting import patient

CONSUMER = Path(__file__).with_name("consumer")


def command(words, within=250, **options):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(within), **options)
    assert done.returncode == 0, f"{done.args}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(build, tmp_path_factory):
    """Returns the folder to which libmuster was moved after the installation."""
    folder = tmp_path_factory.mktemp("install")
    command(["cmake", "--install", build, "--prefix", folder / "first", "--component", "libmuster"])
    return (folder / "first").rename(folder / "second")


def configure(prefix, folder, components, *words):
    return subprocess.run(["cmake", "-S", CONSUMER, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DMUSTER_COMPONENTS={components}", *words],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(60))


def by_cmake(prefix, folder):
    done = configure(prefix, folder, "torch;mpi")
    assert done.returncode == 0, done.stderr
    command(["cmake", "--build", folder])
    return folder / "consumer"


def by_pkg_config(prefix, folder):
    folder.mkdir()
    flags = shlex.split(command(["env", f"PKG_CONFIG_PATH={prefix}/lib/pkgconfig", "pkg-config", "--cflags", "--libs", "muster"]))
    command(["g++", CONSUMER / "consumer.cpp", "-o", folder / "consumer", *flags])
    return folder / "consumer"


WAYS = {"cmake": by_cmake, "pkg-config": by_pkg_config}


@pytest.fixture(scope="module")
def consumers(prefix, tmp_path_factory):
    """Returns consumers(way), which returns the program that was built in this way. Each is built only
    once, because PyTorch's headers take long to compile."""
    folder = tmp_path_factory.mktemp("consumers")
    made = {}

    def get(way):
        if way not in made:
            made[way] = WAYS[way](prefix, folder / way)
        return made[way]

    return get


@pytest.mark.parametrize("way", ["cmake", pytest.param("pkg-config", marks=pytest.mark.campaign)])
def test_installed_consumer(consumers, alone, ranks, way):
    done = alone([consumers(way)])
    assert (done.stdout, done.returncode) == ("rank 0 of 1: 1\n", 0), done.stderr
    assert ranks([consumers(way), "gloo"], 2).good() == ["rank 0 of 2: 3\n", "rank 1 of 2: 3\n"]
    done = alone([*OWN_NETWORK, MPI["mpich"] / "bin/mpirun", "-n", "2", consumers(way), "mpi"])  # the plugin was moved too
    assert (sorted(done.stdout.splitlines()), done.returncode) == (["rank 0 of 2: 3", "rank 1 of 2: 3"], 0), done.stderr


def test_nothing_hidden_is_shown(prefix):
    """The library exports no name of the tool side's code that it contains."""
    shown = command(["nm", "-DC", "--defined-only", prefix / "lib/libmuster.so"])
    assert "muster::join()" in shown
    assert [line for line in shown.splitlines() if "rankenv" in line or " fmt::" in line] == []


def test_unknown_component_is_refused(prefix, tmp_path):
    done = configure(prefix, tmp_path, "torch;teleport")
    assert done.returncode != 0
    assert "there is no component teleport; there are torch and mpi" in " ".join(done.stderr.split())


def test_pytorch_of_another_minor_version_is_refused(prefix, tmp_path):
    header = tmp_path / "torch/include/torch/headeronly/version.h"
    header.parent.mkdir(parents=True)
    header.write_text("#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 99\n#define TORCH_VERSION_PATCH 1\n")
    done = configure(f"{prefix};{tmp_path}/torch", tmp_path / "build", "torch")
    assert done.returncode != 0
    assert f"and {tmp_path}/torch is 2.99.1: name a PyTorch 2.13 in CMAKE_PREFIX_PATH" in " ".join(done.stderr.split())
