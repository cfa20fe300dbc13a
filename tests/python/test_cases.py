"""PyTorch's expectations of a backend, on 2, 3 and 4 ranks, with Gloo as the reference."""
import json
from pathlib import Path

import pytest
from tests.mpi.mpis import MPIS
from tests.python.conftest import must
from tests.python.differences import DIFFERENCES, as_table

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
HERE = Path(__file__).resolve().parent
OPENMPI5, _, MPICH, _ = MPIS
JOBS = [(OPENMPI5, 2), (OPENMPI5, 3), (OPENMPI5, 4), (MPICH, 3)]


@pytest.fixture(scope="module")
def results(host, python):
    """results(mpi, size) -> {case: {"gloo": [kind of each rank], "mpi": [...], "same": bool, "said": text}}"""
    made = {}

    def get(mpi, size):
        if (mpi, size) not in made:
            folder = host.shared / f"{mpi}-{size}"
            folder.mkdir()
            folder.chmod(0o777)
            done = mpi.run(host, size, [python, "-W", "ignore", HERE / "run_cases.py", folder], within=250)
            assert done.returncode == 0, done.stdout + done.stderr
            made[mpi, size] = json.loads(must([python, HERE / "compare_results.py", folder], timeout=60))
        return made[mpi, size]

    return get


def expected(name, backend):
    """What every rank is to do: "returned", or "raised"."""
    if name.startswith("refused: "):
        return "raised"
    return "raised" if backend in DIFFERENCES.get(name, {}) else "returned"


@pytest.mark.parametrize("mpi, size", JOBS, ids=[f"{mpi}-{size}" for mpi, size in JOBS])
def test_a_backend_does_what_pytorch_expects(results, subtests, mpi, size):
    cases = results(mpi, size)
    assert len(cases) >= 120
    assert set(DIFFERENCES) <= set(cases)
    for name, case in cases.items():
        with subtests.test(msg=name):
            for backend in ("gloo", "mpi"):
                assert set(case[backend]) == {expected(name, backend)}, f"{backend}: {case['said']}"
            if name not in DIFFERENCES and not name.startswith("refused: "):
                assert case["same"], f"the results differ: {case['said']}"


def test_the_document_has_the_table_of_differences(root):
    assert as_table() in (root / "docs/python.md").read_text(), "docs/python.md: python3 tests/python/differences.py prints the table"
