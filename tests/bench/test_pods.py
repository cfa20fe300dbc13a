"""`muster bench` in pods: every pod starts it, and the first one prints the results."""
import re

import pytest
from tests.docs.test_pods_guide import TABLE
from tests.run.conftest import Run
from tests.run.launchers import DEPS, SYSTEM_PATH

pytestmark = pytest.mark.lab

PATH = f"PATH={DEPS}/torch/bin:{SYSTEM_PATH}"


@pytest.fixture(scope="module")
def pods(module_lab_up, programs):
    """Returns a function that starts a command on two hosts as the two pods of a job. The hosts were not prepared in any way."""
    lab = module_lab_up(hosts=2)

    def start(port, *words):
        told = ["PET_NNODES=2", "PET_NPROC_PER_NODE=2", "PET_MASTER_ADDR=n1", f"PET_MASTER_PORT={port}"]
        return [Run(lab, ["env", PATH, *told, f"PET_NODE_RANK={rank}", str(programs / "muster"), *words], host=host) for rank, host in enumerate(("n1", "n2"))]

    return start


def test_a_table_of_all_pods(pods):
    first, second = pods(29600, "bench", "all-reduce", "--answer-within", "45", "--table", "--backend", "gloo", "--min", "4M", "--max", "4M", "--iterations", "2")
    assert (first.end(180), second.end(180)) == (0, 0), f"{first.said()}\n{second.said()}"
    assert first.out[:4] == TABLE[:4], first.said()  # as in the guide
    rows = [re.findall(r"[\d.-]+", line) for line in first.out if re.match(r"\| +\d", line)]
    assert [(ranks, rdma) for ranks, rdma, _, _, _ in rows] == [("2", "-"), ("4", "-")], first.said()
    assert all(float(busbw) > 0 for _, _, _, busbw, _ in rows), first.said()
    assert second.out == [] and "muster: measured; the first pod shows the results" in second.errors, second.said()


def test_pairs_need_one_machine_that_reaches_all(pods):
    for one in pods(29700, "bench", "pairs"):
        assert one.end(60) == 2, one.said()
        assert "in a pod muster sees only that pod" in one.errors and "muster bench all-reduce --table" in one.errors
