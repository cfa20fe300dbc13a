"""The whole way with Debian's Open MPI alone: from hosts that do not know each other to a job that fails and is explained."""
import json
import re
from types import SimpleNamespace

import pytest
from tests.run.launchers import SYSTEM_PATH
from tests.schemas import described
from tests.waiting import until

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
    run = cluster.run(DEBIANS, "--status", "ended.json", "--", "sh", "-c", "[ $RANK = 1 ] && { echo oops >&2; exit 3; }; exec sleep 1000")
    assert run.code == 3 and "muster: rank 1 on n2 ended with exit code 3" in run.errors, run.said()
    assert run.err[-1] == "muster: exit code 3 is that of rank 1 on n2", run.said()
    status = described("status", json.loads(cluster.lab.shell("launcher", "cat ended.json")))
    assert {**status, "what": ""} == {"schema": 1, "run": run.id, "state": "ended", "code": 3, "code_of": "rank", "rank": 1, "host": "n2", "what": ""}
    assert status["what"].startswith("rank 1 on n2 ended with exit code 3")
    assert cluster.muster("logs", run.id, "--rank", "1", "--err").stdout == "oops\n"
    assert re.search(rf"^{run.id} +failed \(3\) ", cluster.muster("runs").stdout, re.M)
    cluster.settles(before, 5)


REFUSED = {
    "an error of the checks": (["--activate", "exit 9", "--", "true"], 123),
    "a program that no host has": (["--", "/nowhere/train"], 127),
    "a program that cannot be run": (["--", "/etc/passwd"], 126),
}


@pytest.mark.parametrize("words, code", REFUSED.values(), ids=REFUSED)
def test_what_stops_a_run_gives_check_and_run_one_code(cluster, words, code):
    checked = cluster.muster("check", "-H", "n1", *words, engine=DEBIANS)
    run = cluster.run(DEBIANS, "--status", "refused.json", *words, hosts="n1")
    assert (checked.returncode, run.code) == (code, code), checked.stdout + run.said()
    assert run.err[-1] == f"muster: exit code {code} is muster's own", run.said()
    status = described("status", json.loads(cluster.lab.shell("launcher", "cat refused.json")))
    assert (status["state"], status["code"], status["code_of"]) == ("ended", code, "muster") and "rank" not in status


def test_a_rank_that_exits_with_one_of_musters_codes_is_told_apart(cluster):
    """The status file of a background run says `running` until the run ends."""
    program = "echo up; read line < /tmp/go; exit 125"
    cluster.lab.shell("n1", "rm -f /tmp/go; mkfifo /tmp/go")
    begun = cluster.muster("run", "-d", "--status", "later.json", "-H", "n1", "--", "sh", "-c", program, engine=DEBIANS)
    assert begun.returncode == 0, begun.stderr
    running = described("status", json.loads(cluster.lab.shell("launcher", "cat later.json")))
    assert running == {"schema": 1, "run": begun.stdout.strip(), "state": "running"}
    attached = cluster.attach(begun.stdout.strip())
    attached.wait_for("up")
    cluster.lab.shell("n1", "timeout 60 sh -c 'echo > /tmp/go'")
    assert attached.end() == 125, attached.said()
    told = until("the end is told", lambda: re.search('.*"ended".*', cluster.lab.shell("launcher", "cat later.json")), 10)
    status = described("status", json.loads(told[0]))
    assert (status["code"], status["code_of"], status["rank"], status["host"]) == (125, "rank", 0, "n1")
