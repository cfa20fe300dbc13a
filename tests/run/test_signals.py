"""However muster ends, nothing of its run is left on any host, and other processes there are not affected."""
import json
import re
import time

import pytest
from tests.run.conftest import Bystander
from tests.schemas import described

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
    own processes are killed too. A run with a longer time continues. After a reboot, muster does not claim that they run."""
    cluster = make_cluster(lab_up(hosts=3))
    Bystander(cluster, engines["openmpi5"], "--orphan-after", "600")
    before = {one for one in cluster.processes() if one[0] != "launcher" and not (one[0] == "n1" and "muster agent" in one[2])}
    for engine in engines.values():
        run = cluster.start(engine, "--orphan-after", "5", "--", "sh", "-c", STUBBORN)
        run.wait_for("up", 3)
    cluster.lab.command("crash", "launcher")
    cluster.lab.shell("n1", "pkill -KILL -f '[m]uster agent'")
    cluster.settles(before, 25)
    cluster.lab.command("restart", "launcher")
    alone = "the hosts end the run at the latest after 5 s without muster"
    listed = described("runs", json.loads(cluster.muster("runs", "--json", "--limit", "1").stdout))
    assert (listed["id"], listed["state"], listed["why"]) == (run.id, "killed", f"muster was killed or this machine rebooted; {alone}"), listed
    attached = cluster.muster("attach", run.id)
    assert attached.returncode == 125 and attached.stdout.count("up") == 3, attached
    assert "muster was killed or this machine rebooted, so it is not recorded how the run ended" in attached.stderr and alone in attached.stderr, attached.stderr


@pytest.mark.campaign
def test_a_launcher_that_sleeps_too_long(cluster, engine):
    """The hosts end the run meanwhile, and muster says why. A sleep shorter than --orphan-after is not noticed."""
    before = cluster.processes()
    for seconds, flag in ((12, "60"), (20, "8")):
        run = cluster.start(engine, "--orphan-after", flag, "--", "sh", "-c", STUBBORN)
        run.wait_for("up", 3)
        pids = cluster.lab.shell("launcher", "pgrep -u $(id -u) | grep -vx $$").split()
        cluster.lab.exec("launcher", "kill", "-STOP", *pids, root=True)
        time.sleep(seconds)  # the length of the sleep is the point of this test
        cluster.lab.exec("launcher", "kill", "-CONT", *pids, root=True)
        if flag == "60":
            run.signal("TERM")
            assert run.end() == 143, run.said()
            continue
        assert run.end() == 125, run.said()
        assert re.search(r"this machine was asleep, or muster was stopped, for \d+ s; the hosts wait 8 s", run.errors), run.said()
    cluster.settles(before, 10)
