"""A link of a host or of the launcher that is cut for a while does not end a run."""
import time

import pytest

pytestmark = pytest.mark.lab


# By default a host is lost after 15 s, and TCP may take nearly that long to retry after the cut, which is too close for a busy
# machine.
@pytest.mark.parametrize("flags", [["--lost-after", "45"], pytest.param([], marks=pytest.mark.campaign, id="default")])
def test_a_cut_of_ten_seconds(cluster, engines, flags):
    """Tests both Open MPIs at the same time. The programs exchange messages all the time."""
    before = cluster.processes()
    runs = [cluster.start(engine, *flags, "--", engine.pi, "16") for engine in engines.values()]
    for run in runs:
        run.wait_for("first round", 3)
    cluster.lab.command("cut", "n2")
    time.sleep(10)  # the length of the cut is the point of this test
    cluster.lab.command("mend", "n2")
    for run in runs:
        assert run.end(60) == 0, run.said()
        assert len([line for line in run.out if "pi is right" in line]) == 3
    cluster.settles(before, 5)


def test_a_cut_of_the_launchers_own_link(cluster, engines):
    """All hosts are silent for longer than --lost-after. So the fault is in this machine's network, and the hosts wait for the
    launcher."""
    before = cluster.processes()
    run = cluster.start(engines["openmpi5"], "--lost-after", "12", "--", engines["openmpi5"].pi, "30")
    run.wait_for("first round", 3)
    cluster.lab.command("cut", "launcher")
    time.sleep(14)  # longer than --lost-after
    cluster.lab.command("mend", "launcher")
    assert run.end(90) == 0, run.said()
    assert len([line for line in run.out if "pi is right" in line]) == 3, run.said()
    cluster.settles(before, 5)
