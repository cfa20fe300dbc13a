"""The whole way, from hosts that know nothing of each other to a job that fails and is explained, with Debian's Open MPI alone."""
import re
from types import SimpleNamespace

import pytest
from tests.run.launchers import SYSTEM_PATH

pytestmark = [pytest.mark.lab, pytest.mark.smoke]
DEBIANS = SimpleNamespace(path=SYSTEM_PATH)


@pytest.fixture(scope="module")
def cluster(module_lab_up, make_cluster):
    return make_cluster(module_lab_up(hosts=3, nic_names="eth0,ens5,eno1"))  # muster setup


def test_check_exec_and_run(cluster):
    before = cluster.processes()
    checked = cluster.muster("check", "-H", cluster.all, engine=DEBIANS)
    assert checked.returncode == 0 and checked.stdout.startswith("3 of 3 hosts answered\n"), checked.stdout + checked.stderr
    assert cluster.muster("exec", "-H", cluster.all, "--", "echo here").stdout == "--- n[1-3] (3 hosts) ---\nhere\n"
    run = cluster.run(DEBIANS, "--nproc-per-node", "2", "--", "sh", "-c", "echo rank $RANK of $WORLD_SIZE on $(hostname)")
    assert run.code == 0, run.said()
    assert sorted(line.rstrip("\r") for line in run.out) == [f"[n{i // 2 + 1}:{i}] rank {i} of 6 on n{i // 2 + 1}" for i in range(6)]
    assert "Open MPI 4" in run.errors, run.said()
    cluster.settles(before, 5)


def test_a_rank_that_fails_is_named(cluster):
    before = cluster.processes()
    run = cluster.run(DEBIANS, "--", "sh", "-c", "[ $RANK = 1 ] && { echo oops >&2; exit 3; }; exec sleep 1000")
    assert run.code == 3 and "muster: rank 1 on n2 ended with exit code 3" in run.errors, run.said()
    assert cluster.muster("logs", run.id, "--rank", "1", "--err").stdout == "oops\n"
    assert re.search(rf"^{run.id} +failed \(3\) ", cluster.muster("runs").stdout, re.M)
    cluster.settles(before, 5)
