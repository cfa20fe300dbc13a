"""What goes wrong in a run is named: which host, which rank, how it ended; and muster ends with the right code, soon."""
import re
import signal
import time

import pytest

pytestmark = pytest.mark.lab

# Rank 1 does it once the others are up; they would wait for ever.
ON_RANK_1 = "ulimit -c 0; echo up; [ $RANK = 1 ] || exec sleep 1000; read line < /tmp/go; {}"


def run_with_rank_1(cluster, engine, does, *flags):
    """A run in which rank 1 does something once every rank is up."""
    cluster.lab.shell("n2", "rm -f /tmp/go; mkfifo /tmp/go")
    run = cluster.start(engine, *flags, "--", "sh", "-c", ON_RANK_1.format(does))
    run.wait_for(r"^\[n\d:\d\] up$", 3)
    cluster.lab.shell("n2", "echo > /tmp/go")
    run.code = run.end(25)
    return run


@pytest.mark.parametrize("does, code, told", [
    ("exit 3", 3, "rank 1 on n2 ended with exit code 3"),
    ("kill -SEGV $$", 128 + signal.SIGSEGV, "rank 1 on n2 ended with signal 11 (Segmentation fault)"),
])
def test_a_rank_that_fails(cluster, engine, does, code, told):
    before = cluster.processes()
    run = run_with_rank_1(cluster, engine, does)
    assert run.code == code, run.said()
    assert f"muster: {told}" in run.errors
    assert f"muster logs {run.id} --rank 1" in run.errors
    cluster.settles(before, 5)


def test_of_two_ranks_that_fail_the_first_counts(cluster, engine):
    """Rank 2 ends with 5 because rank 1 ended with 3."""
    program = "trap 'exit 5' TERM; echo up; [ $RANK = 1 ] && { read line < /tmp/go; exit 3; }; while :; do sleep 0.1; done"
    cluster.lab.shell("n2", "rm -f /tmp/go; mkfifo /tmp/go")
    run = cluster.start(engine, "--", "sh", "-c", program)
    run.wait_for("up$", 3)
    cluster.lab.shell("n2", "echo > /tmp/go")
    assert run.end(25) == 3, run.said()
    assert "muster: rank 1 on n2 ended with exit code 3; after it 2 ranks of 3 ended badly too" in run.errors


def test_two_ranks_that_fail_at_once(cluster, engine):
    run = cluster.run(engine, "--", "sh", "-c", "case $RANK in 1) exit 3;; 2) exit 5;; esac")
    told = re.search(r"rank (\d) on n(\d) ended with exit code (\d)", run.errors)
    assert told and told.groups() in (("1", "2", "3"), ("2", "3", "5")), run.said()
    assert run.code == int(told[3])


def test_a_program_that_is_not_there_or_cannot_run(cluster, engine):
    nowhere = cluster.run(engine, "--", "/nowhere/train")
    assert nowhere.code == 127 and "/nowhere/train" in nowhere.errors and "n[1-3]" in nowhere.errors, nowhere.said()
    forced = cluster.run(engine, "--force", "--", "/nowhere/train")
    assert forced.code == 127 and re.search(r"muster: rank \d on n\d: .*/nowhere/train", forced.errors), forced.said()
    cluster.lab.shell("n2", "rm -f ~/here")
    for host in ("n1", "n3"):
        cluster.lab.write(host, f"/home/{cluster.lab.user}/here", "#!/bin/sh\necho fine\n", mode="755")
    missing = cluster.run(engine, "--", f"/home/{cluster.lab.user}/here")
    assert missing.code == 127 and re.search(r"n2\b.*", missing.errors) and "n[1-3]" not in missing.errors, missing.said()
    for host in cluster.lab.hosts:
        cluster.lab.write(host, f"/home/{cluster.lab.user}/here", "no program\n", mode="644")
    assert cluster.run(engine, "--", f"/home/{cluster.lab.user}/here").code == 126


def test_the_time_limit(cluster, engine):
    before = cluster.processes()
    started = time.monotonic()
    run = cluster.run(engine, "--timeout", "2", "--", "sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done")
    assert run.code == 124 and "the time limit of 2 s passed" in run.errors, run.said()
    assert len(run.out) == 3 and time.monotonic() - started < 25
    cluster.settles(before, 5)


@pytest.mark.timeout(180)
def test_a_host_that_dies_and_one_that_loses_power(lab_up, make_cluster, engines):
    """Both Open MPIs, both faults, four runs side by side: n2 is killed, its peers are told; n5 is cut off, nobody is told."""
    cluster = make_cluster(lab_up(hosts=6))
    before = cluster.processes()
    runs = []
    for lost, rank, hosts in (("n2", 1, "n[1-3]"), ("n5", 1, "n[4-6]")):
        for engine in engines.values():
            runs.append((cluster.start(engine, "--", engine.pi, "1000", hosts=hosts), lost))
    for run, _ in runs:
        run.wait_for("first round", 3, within=60)
    cluster.lab.command("kill", "n2")
    cluster.lab.command("crash", "n5")
    end = time.monotonic() + 25
    for run, lost in runs:
        assert run.end(max(0.1, end - time.monotonic())) == 125, run.said()
        assert f"muster: host {lost} was lost with rank 1" in run.errors, run.said()
    cluster.settles(before, 5)
