"""PyTorch's expectations for a backend, on 2, 3 and 4 ranks, with Gloo as the reference."""
import json
import re
import subprocess

import pytest
from tests.mpi.mpis import MPIS
from tests.python.differences import DIFFERENCES, REFUSALS, WORK_FROM_2_14, as_table
from tests.python.package import must
from tests.waiting import patient

pytestmark = pytest.mark.lab
OPENMPI5, _, MPICH, _ = MPIS
JOBS = [(OPENMPI5, 2), (MPICH, 3), (OPENMPI5, 4)]
IN_CI = JOBS[2:]


@pytest.fixture(scope="module")
def results(host, python, scripts):
    """Returns results(mpi, size), which returns {case: {"gloo": [kind of each rank], "mpi": [...], "same":
    bool, "said": text}}."""
    made = {}

    def get(mpi, size):
        if (mpi, size) not in made:
            folder = host.shared / f"{mpi}-{size}"
            folder.mkdir()
            folder.chmod(0o777)
            try:
                done = mpi.run(host, size, [python, "-W", "ignore", scripts / "run_cases.py", folder], within=120)
            except subprocess.TimeoutExpired:
                at = {file.stem: file.read_text() for file in folder.glob("*.now")}
                pytest.fail(f"still running at its deadline; the ranks are at: {at}")
            ended = sorted(file.name for file in folder.glob("*.pt"))  # ranks that finished all cases
            assert done.returncode == 0, f"ended: {ended}\n{done.stdout}{done.stderr[-3000:]}"
            made[mpi, size] = json.loads(must([python, scripts / "compare_results.py", folder], timeout=patient(60)))
        return made[mpi, size]

    return get


@pytest.fixture(scope="module")
def working(python):
    """Returns the names of the cases among DIFFERENCES that work with this version of PyTorch."""
    version = must([python, "-c", "from importlib.metadata import version; print(version('torch'))"], timeout=patient(60))
    return WORK_FROM_2_14 if [*map(int, version.split(".")[:2])] >= [2, 14] else set()


def expected(name, backend, working):
    """Returns what every rank must do: "returned" or "raised"."""
    if name.startswith("refused: "):
        return "raised"
    return "raised" if backend in DIFFERENCES.get(name, {}) and name not in working else "returned"


@pytest.mark.parametrize("mpi, size", [pytest.param(*job, id="{}-{}".format(*job), marks=[] if job in IN_CI else pytest.mark.campaign) for job in JOBS])
def test_a_backend_does_what_pytorch_expects(results, working, subtests, mpi, size):
    cases = results(mpi, size)
    assert len(cases) >= 120
    assert set(DIFFERENCES) | set(REFUSALS) <= set(cases)
    assert {name for name in cases if expected(name, "mpi", working) == "raised"} == set(REFUSALS) - working
    for name, case in cases.items():
        with subtests.test(msg=name):
            for backend in ("gloo", "mpi"):
                assert set(case[backend]) == {expected(name, backend, working)}, f"{backend}: {case['said']}"
            if name in set(REFUSALS) - working:
                assert re.search(f"mpi: .*{REFUSALS[name]}", case["said"]), case["said"]
            elif name not in set(DIFFERENCES) - working:
                assert case["same"], f"the results differ: {case['said']}"


def test_the_document_has_the_table_of_differences(root):
    assert as_table() in (root / "docs/python.md").read_text(), "docs/python.md: python3 tests/python/differences.py prints the table"
