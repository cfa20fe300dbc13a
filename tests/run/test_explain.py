"""`muster explain` names what made a run fail, from the output of real engines."""
import json

import pytest
from tests.docs.pages import take
from tests.schemas import described

pytestmark = pytest.mark.lab

ENDING = "\n".join(take("docs/explain.md", "muster: rank 3 on n2 ended"))
# Line 57 raises an exception after all ranks have begun.
SCRIPT = """import os, time
print("up", flush=True)
rank = int(os.environ["RANK"])
def load_shard(name):
    with open("/tmp/go") as go: go.read()
""" + "\n" * 51 + """    raise ValueError(f"shard {name} has no labels")
if rank == 3:
    load_shard("s03")
time.sleep(600)
"""


def explain(cluster, *words):
    done = cluster.lab.exec("launcher", "muster", "explain", *words)
    assert done.returncode == 0, done
    return done.stdout


def test_a_script_that_raises_on_one_rank(cluster, engine):
    script = f"/home/{cluster.lab.user}/project/train.py"
    for host in ("launcher", *cluster.lab.hosts):
        cluster.lab.shell(host, "mkdir -p ~/project")
        cluster.lab.write(host, script, SCRIPT)
    cluster.lab.shell("n2", "rm -f /tmp/go; mkfifo /tmp/go")
    run = cluster.start(engine, "--nproc-per-node", "2", "--", "python3", script)
    run.wait_for("up", 6)
    cluster.lab.shell("n2", "timeout 60 sh -c 'echo > /tmp/go'")
    assert run.end(30) == 1, run.said()
    assert run.ending == ENDING.replace("20261118-093012-1f2a7", run.id).replace("/home/dev/", f"/home/{cluster.lab.user}/"), run.said()
    said = explain(cluster, run.id)
    assert said.startswith("Rank 3 on n2 ended with exit code 1"), said
    assert "\nValueError: shard s03 has no labels\n" in said and f"your code  {script}:57, in load_shard" in said, said
    found = described("explain", json.loads(explain(cluster, "--json", run.id)))
    assert found["confidence"] == "high" and found["causes"][0]["ranks"] == [3] and found["causes"][0]["exception"]["line"] == 57


def test_a_run_that_went_well_has_nothing_to_explain(cluster, engine):
    run = cluster.start(engine, "--", "sh", "-c", "echo well")
    assert run.end(30) == 0, run.said()
    assert explain(cluster) == f"{run.id} succeeded: there is no failure to explain.\n"


def test_a_crash_of_native_code_is_explained(cluster, engine):
    run = cluster.start(engine, "--", "sh", "-c", "[ $RANK = 1 ] && kill -SEGV $$; exec sleep 600")
    assert run.end(30) == 139, run.said()
    assert "[program-segfault]\n" in run.ending and "rank 1 on n2 ended with signal 11 (Segmentation fault)" in run.ending, run.said()


def test_what_the_kernel_says_during_a_run_is_kept_and_explained(cluster, engine):
    """In the lab, a file replaces the kernel's log."""
    for host in cluster.lab.hosts:
        cluster.lab.shell(host, "echo '3,1,1,-;Out of memory: Killed process 1 (before)' > /dev/kmsg", root=True)
    try:
        cluster.lab.shell("n2", "rm -f /tmp/go; mkfifo /tmp/go")
        run = cluster.start(engine, "--", "sh", "-c", "echo up; [ $RANK = 1 ] || exec sleep 600; read line < /tmp/go; kill -KILL $$")
        run.wait_for("up", 3)
        cluster.lab.shell("n2", "echo '3,2,2,-;Memory cgroup out of memory: Killed process 4711 (python3)' >> /dev/kmsg", root=True)
        cluster.lab.shell("n2", "timeout 60 sh -c 'echo > /tmp/go'")
        assert run.end(30) == 137, run.said()
    finally:
        for host in cluster.lab.hosts:
            cluster.lab.shell(host, "rm -f /dev/kmsg", root=True)
    assert "[cgroup-oom-kill]\n" in run.ending, run.said()
    assert "\n  seen in    kernel log of n2:1: Memory cgroup out of memory: Killed process" in run.ending, run.said()
    kept = cluster.lab.shell("launcher", f"cat ~/.local/state/muster/runs/{run.id}/kernel")
    assert kept == "n2 Memory cgroup out of memory: Killed process 4711 (python3)\n", kept
