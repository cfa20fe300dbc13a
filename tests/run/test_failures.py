"""Failures of a run are named: which host, which rank, how it ended. test_outcomes.py tests what holds under every engine."""
import pytest
from tests.waiting import until

pytestmark = pytest.mark.lab


def test_of_two_ranks_that_fail_the_first_counts(cluster, engine):
    """Rank 2 ends with 5 because rank 1 ended with 3."""
    program = "trap 'exit 5' TERM; echo up; [ $RANK = 1 ] && { read line < /tmp/go; exit 3; }; while :; do sleep 0.1; done"
    cluster.lab.shell("n2", "rm -f /tmp/go; mkfifo /tmp/go")
    run = cluster.start(engine, "--", "sh", "-c", program)
    run.wait_for("up$", 3)
    cluster.lab.shell("n2", "echo > /tmp/go")
    assert run.end(25) == 3, run.said()
    assert "muster: rank 1 on n2 ended with exit code 3; 2 ranks of 3 failed after it" in run.errors


def test_what_another_rank_says_is_shown_if_the_first_one_failed_in_silence(cluster, engine):
    """In some programs, only rank 0 reports an error that all ranks have. Here it does so after rank 1 has failed, and muster quotes it."""
    program = ("[ $RANK = 1 ] && { while ! [ -e /tmp/ready.$MUSTER_RUN_ID ]; do sleep 0.1; done; exit 3; };"
               "trap 'echo this is why >&2; exit 3' TERM; echo > /tmp/ready.$MUSTER_RUN_ID; while :; do sleep 0.1; done")
    run = cluster.start(engine, "--nproc-per-node", "2", "--", "sh", "-c", program, hosts="n1")
    assert run.end(25) == 3, run.said()
    assert "muster: rank 1 on n1 ended with exit code 3; 1 rank of 2 failed after it" in run.errors, run.said()
    assert "[n1:0] this is why" in run.errors, run.said()
    assert f" rank 1 wrote nothing to stderr to see what rank 0 wrote: muster logs {run.id} --rank 0" in run.errors, run.said()
    assert f"muster explain {run.id}" in run.ending, run.said()


def test_a_program_that_is_not_on_one_host_or_cannot_run(cluster, engine):
    cluster.lab.shell("n2", "rm -f ~/here")
    for host in ("n1", "n3"):
        cluster.lab.write(host, f"/home/{cluster.lab.user}/here", "#!/bin/sh\necho fine\n", mode="755")
    missing = cluster.run(engine, "--", f"/home/{cluster.lab.user}/here")
    assert missing.code == 127 and missing.errors.startswith(f"ERROR    n2  /home/{cluster.lab.user}/here does not exist on the host"), missing.said()
    for host in cluster.lab.hosts:
        cluster.lab.write(host, f"/home/{cluster.lab.user}/here", "no program\n", mode="644")
    assert cluster.run(engine, "--", f"/home/{cluster.lab.user}/here").code == 126


def test_ranks_that_end_well_on_a_full_disk_are_not_started_again(cluster, engine):
    """/tmp on n2, where muster's files are, fills up while rank 1 runs. muster must still learn that the rank succeeded."""
    fill = "mount -o remount,size=$(df --output=used -k /tmp | tail -1 | tr -d ' ')k /tmp && df --output=avail /tmp | tail -1 | grep -qx ' *0'"
    cluster.lab.shell("n2", "rm -f ~/now; mkfifo ~/now")
    run = cluster.start(engine, "--max-restarts", "1", "--", "sh", "-c", "echo up; [ $RANK = 1 ] || exit 0; read line < ~/now; echo well")
    try:
        run.wait_for("up", 3)
        # Retries, because other processes may write or remove files there meanwhile.
        until("/tmp is full", lambda: cluster.lab.exec("n2", "sh", "-c", fill, root=True).returncode == 0, 30)
        cluster.lab.shell("n2", "timeout 60 sh -c 'echo > ~/now'")
        assert run.end() == 0, run.said()
    finally:
        cluster.lab.shell("n2", "mount -o remount,size=50% /tmp", root=True)
    assert "[n2:1] well" in run.out and "starting again" not in run.errors, run.said()
