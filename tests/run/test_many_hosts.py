"""Very short programs on many hosts. Open MPI 5 alone is known to hang at their end."""
import time

import pytest

pytestmark = pytest.mark.lab


@pytest.mark.parametrize("hosts, runs", [(12, 3), *(pytest.param(*one, marks=pytest.mark.campaign) for one in ((12, 10), (128, 2)))])
def test_runs_of_hostname(lab_up, make_cluster, engines, hosts, runs):
    cluster = make_cluster(lab_up(hosts=hosts))
    before = cluster.processes()
    slowest = 0
    for _ in range(runs):
        started = time.monotonic()
        run = cluster.run(engines["openmpi5"], "--", "hostname", within=20 if hosts <= 12 else 120)
        slowest = max(slowest, time.monotonic() - started)
        assert run.code == 0, run.said()
        assert sorted(run.out) == sorted(f"[n{i + 1}:{i}] n{i + 1}" for i in range(hosts))
    # A low limit for open files: muster needs more than three per host, and raises its limit
    # itself.
    few = cluster.launch(["sh", "-c", f'ulimit -Sn {3 * hosts}; exec "$@"', "sh", "muster", "run", "-H", cluster.all, "--", "hostname"], engines["openmpi5"])
    assert few.end(20 if hosts <= 12 else 120) == 0, few.said()
    cluster.settles(before, 5)
    print(f"the slowest of {runs} took {slowest:.1f} s")
