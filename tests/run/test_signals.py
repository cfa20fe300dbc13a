"""However muster ends, nothing of its run is left on any host, and other processes there are not affected."""
import pytest
from tests.run.conftest import Bystander

pytestmark = pytest.mark.lab

# A program that does not end by itself: it ignores SIGTERM, and has a grandchild in a separate session.
STUBBORN = "trap '' TERM INT; setsid sleep 1000 & echo up; while :; do sleep 1; done"


def test_sigterm_to_muster(cluster, engine):
    """test_outcomes.py tests SIGINT and SIGKILL."""
    bystander = Bystander(cluster, engine)
    before = cluster.processes()
    run = cluster.start(engine, "--", "sh", "-c", STUBBORN)
    run.wait_for("up", 3)
    run.signal("TERM")
    cluster.settles(before, 5)
    assert run.end(5) == 143, run.said()
    bystander.end()


def test_signals_before_the_ranks_are_up(cluster, engine):
    """The engine has started, but no rank is known yet. muster also ends an Open MPI daemon that starts after its mpirun has
    ended."""
    before = cluster.processes()
    for name in ("INT", "KILL"):
        run = cluster.start(engine, "--", "sh", "-c", STUBBORN)
        run.signal(name)
        cluster.settles(before, 5)
        assert run.end(5) == {"INT": 130, "KILL": 137}[name], run.said()


def test_power_loss_of_the_launcher(lab_up, make_cluster, engines):
    """No host is told that the run is over. The hosts end their part of the run after --orphan-after, including n1, where muster's
    own processes are killed too. A run with a longer time continues."""
    cluster = make_cluster(lab_up(hosts=3))
    Bystander(cluster, engines["openmpi5"], "--orphan-after", "600")
    before = {one for one in cluster.processes() if one[0] != "launcher" and not (one[0] == "n1" and "muster agent" in one[2])}
    for engine in engines.values():
        run = cluster.start(engine, "--orphan-after", "5", "--", "sh", "-c", STUBBORN)
        run.wait_for("up", 3)
    cluster.lab.command("crash", "launcher")
    cluster.lab.shell("n1", "pkill -KILL -f '[m]uster agent'")
    cluster.settles(before, 25)
