"""Very short programs on twelve hosts: Open MPI 5 alone is known to hang at their end."""
import time

import pytest

pytestmark = pytest.mark.lab



@pytest.mark.parametrize("runs", [3, pytest.param(10, marks=pytest.mark.campaign)])
def test_runs_of_hostname(lab_up, make_cluster, engines, runs):
    cluster = make_cluster(lab_up(hosts=12))
    before = cluster.processes()
    slowest = 0
    for _ in range(runs):
        started = time.monotonic()
        run = cluster.run(engines["openmpi5"], "--", "hostname", within=20)
        slowest = max(slowest, time.monotonic() - started)
        assert run.code == 0, run.said()
        assert sorted(run.out) == sorted(f"[n{i + 1}:{i}] n{i + 1}" for i in range(12))
    cluster.settles(before, 5)
    print(f"the slowest of {runs} took {slowest:.1f} s")
