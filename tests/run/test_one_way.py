"""The launcher reaches two hosts through a third, and they have no route back to it."""
import re

import pytest
from tests.run.launchers import LAUNCHERS

pytestmark = pytest.mark.lab
BY_NAME = {launcher.name: launcher for launcher in LAUNCHERS}


def some_in_ci(*names):
    return pytest.mark.parametrize("launcher", [pytest.param(BY_NAME[name], id=name, marks=[] if name == "mpich" else pytest.mark.campaign) for name in names])


@pytest.fixture(scope="module")
def module_cluster(module_lab_up, make_cluster, programs):
    cluster = make_cluster(module_lab_up(hosts=3), programs)
    lab = cluster.lab
    launcher = next(host["addresses"][0] for host in lab.status()["hosts"] if host["name"] == "launcher")
    lab.shell("launcher", "printf 'Host n2 n3\\n  ProxyJump n1\\nHost *\\n' | cat - ~/.ssh/config > ~/.ssh/new; mv ~/.ssh/new ~/.ssh/config")
    lab.shell("launcher", "pkill -f '[s]sh: .*mux'")  # connections made without the detour
    for host in ("n2", "n3"):
        lab.shell(host, f"ip route add unreachable {launcher}", root=True)
    return cluster


@some_in_ci("openmpi5", "openmpi4", "mpich", "intel")
def test_hosts_that_cannot_reach_the_launcher_are_named_before_the_start(cluster, launcher):
    """mpirun's daemons would try to connect to the launcher, and Open MPI 4's mpirun would wait for them for ever."""
    before = cluster.processes()
    run = launcher.start(cluster, ["sh", "-c", "echo up"])
    assert run.end(60) == 123, run.said()
    assert re.search(r"ERROR +n\[2-3\] +the host cannot connect to this machine", run.errors), run.said()
    assert re.search(r'seen +connections to 198\.18\.0\.1 end with "no route to host"', run.errors) and "--engine torchrun" in run.errors, run.said()
    assert run.out == [], run.said()
    cluster.settles(before, 5)


@some_in_ci("openmpi5", "mpich", "intel")
def test_an_mpirun_that_gives_up_is_quoted_or_explained(cluster, launcher):
    """muster blames no rank, not even one on n1 that mpirun started and then ended."""
    before = cluster.processes()
    run = launcher.start(cluster, ["sh", "-c", "echo up; exec sleep 1000"], "--force")
    assert run.end(60) == 125, run.said()
    assert re.search(r"muster: .* never started ranks? (0, )?1, 2", run.errors), run.said()
    assert re.search(r"^  (\| |cause |maybe ).*(connect|rout|reach|communicat)", run.errors, re.M | re.I), run.said()
    cluster.settles(before, 5)


def test_torchrun_needs_no_way_back(cluster):
    """Output and exit codes travel over muster's own ssh connections, which the launcher opens."""
    before = cluster.processes()
    run = BY_NAME["torchrun"].start(cluster, ["sh", "-c", "echo up; [ $RANK = 1 ] || exec sleep 1000; echo no room >&2; exit 3"])
    assert run.end(90) == 3, run.said()
    assert "muster: rank 1 on n2 ended with exit code 3" in run.errors, run.said()
    assert re.search(r"(\[n2:1\]|  \|) no room", run.errors), run.said()
    cluster.settles(before, 5)
