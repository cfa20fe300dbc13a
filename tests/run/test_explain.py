"""`muster explain` names what made a run fail, from the output that real engines leave."""
import json

import pytest

pytestmark = pytest.mark.lab

SCRIPT = """import os, time
rank = int(os.environ["RANK"])
def load_shard(number):
    raise ValueError(f"no shard {number}")
if rank == 1:
    load_shard(19)
time.sleep(600)
"""


def explain(cluster, *words):
    done = cluster.lab.exec("launcher", "muster", "explain", *words)
    assert done.returncode == 0, done
    return done.stdout


def test_a_script_that_raises_on_one_rank(cluster, engine):
    script = f"/home/{cluster.lab.user}/fails.py"
    for host in ("launcher", *cluster.lab.hosts):
        cluster.lab.write(host, script, SCRIPT)
    run = cluster.start(engine, "--", "python3", script)
    assert run.end(30) == 1, run.said()
    said = explain(cluster, run.id)
    assert said.startswith("Rank 1 on n2 ended with exit code 1"), said
    assert "\nValueError: no shard 19\n" in said and f"your code  {script}:4, in load_shard" in said, said
    found = json.loads(explain(cluster, "--json", run.id))
    assert found["confidence"] == "high" and found["causes"][0]["ranks"] == [1] and found["causes"][0]["exception"]["line"] == 4


def test_a_run_that_went_well_has_nothing_to_explain(cluster, engine):
    run = cluster.start(engine, "--", "sh", "-c", "echo well")
    assert run.end(30) == 0, run.said()
    assert explain(cluster) == f"{run.id} succeeded: there is no failure to explain.\n"
