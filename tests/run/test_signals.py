"""However muster ends, nothing of its run is left on any host, and what else runs there is not hit."""
import pytest

pytestmark = pytest.mark.lab

# Waits, ends well when it is told.
BYSTANDER = "echo up; until [ -e /tmp/leave ]; do sleep 0.1; done; echo left"
# Does not go by itself: SIGTERM is ignored, and there is a grandchild in a session of its own.
STUBBORN = "trap '' TERM INT; setsid sleep 1000 & echo up; while :; do sleep 1; done"


def start_bystander(cluster, engine, *flags):
    """Another run on the same hosts; end_bystander tells it to end, and it must end well."""
    for host in cluster.lab.hosts:
        cluster.lab.shell(host, "rm -f /tmp/leave")
    run = cluster.start(engine, *flags, "--", "sh", "-c", BYSTANDER)
    run.wait_for("up", 3)
    return run


def end_bystander(cluster, run):
    for host in cluster.lab.hosts:
        cluster.lab.shell(host, "touch /tmp/leave")
    assert run.end() == 0, run.said()
    assert sorted(line for line in run.out if "left" in line) == [f"[n{i + 1}:{i}] left" for i in range(3)]


def without_restless(processes):
    """The bystander's shells start a new `sleep 0.1` all the time."""
    return {one for one in processes if one[2] != "sleep 0.1"}


@pytest.fixture
def shared_hosts(cluster, monkeypatch):
    whole = cluster.processes
    monkeypatch.setattr(cluster, "processes", lambda: without_restless(whole()))
    return cluster


def test_sigterm_to_muster(shared_hosts, engine):
    """SIGINT and SIGKILL are in test_outcomes.py."""
    bystander = start_bystander(shared_hosts, engine)
    before = shared_hosts.processes()
    run = shared_hosts.start(engine, "--", "sh", "-c", STUBBORN)
    run.wait_for("up", 3)
    run.signal("TERM")
    shared_hosts.settles(before, 5)
    assert run.end(5) == 143, run.said()
    end_bystander(shared_hosts, bystander)


def test_signals_before_the_ranks_are_up(shared_hosts, engine):
    """The engine has been started and no rank is known yet."""
    before = shared_hosts.processes()
    for name in ("INT", "KILL"):
        run = shared_hosts.start(engine, "--", "sh", "-c", STUBBORN)
        run.signal(name)
        shared_hosts.settles(before, 5)
        assert run.end(5) == {"INT": 130, "KILL": 137}[name], run.said()


def test_power_loss_of_the_launcher(lab_up, make_cluster, engines, monkeypatch):
    """Nobody is told. The hosts end the runs after --orphan-after, and a run with more patience stays."""
    cluster = make_cluster(lab_up(hosts=3))
    whole = cluster.processes
    monkeypatch.setattr(cluster, "processes", lambda: without_restless(whole()))
    start_bystander(cluster, engines["openmpi5"], "--orphan-after", "600")
    before = {one for one in cluster.processes() if one[0] != "launcher"}
    for engine in engines.values():
        run = cluster.start(engine, "--orphan-after", "5", "--", "sh", "-c", STUBBORN)
        run.wait_for("up", 3)
    cluster.lab.command("crash", "launcher")
    cluster.settles(before, 10)
