"""Parts of a run that are killed or stopped from outside."""
import re

import pytest
from tests.waiting import patient

pytestmark = pytest.mark.lab

# Ignores SIGTERM, and has a child in a separate session.
STUBBORN = "trap '' TERM; setsid sleep 1000 & echo up; while :; do sleep 1; done"


def ended_by_a_kill(cluster, engine, host, pid_of):
    """Kills one process of a run with three ranks, and checks that nothing of the run is left. Returns the run."""
    before = cluster.processes()
    run = cluster.start(engine, "--", "sh", "-c", STUBBORN)
    run.wait_for("up", 3)
    cluster.lab.shell(host, f"kill -KILL {pid_of(run)}")
    run.code = run.end(25)
    cluster.settles(before, 5)
    return run


@pytest.mark.parametrize("what", ["shim", "program"])
def test_a_killed_rank_is_named(cluster, engine, what):
    run = ended_by_a_kill(cluster, engine, "n2", lambda run: cluster.pid_of("n2", run.id, what))
    assert run.code == 137, run.said()
    assert re.search(r"muster: rank 1 on n2( ended with signal 9|: it was killed)", run.errors), run.said()


def test_a_killed_mpirun(cluster, engine):
    run = ended_by_a_kill(cluster, engine, "launcher", cluster.mpirun_pid)
    assert run.code == 125, run.said()
    assert re.search(rf"{engine.called}\S* ended with signal 9", run.errors), run.said()


@pytest.mark.parametrize("ended_by", ["timeout", "INT"])
def test_a_stopped_rank(cluster, engine, ended_by):
    """Both the shim and the program are stopped; the run can still be ended."""
    before = cluster.processes()
    run = cluster.start(engine, *(["--timeout", f"{max(20, patient(5)):g}"] if ended_by == "timeout" else []), "--", "sh", "-c", STUBBORN)
    run.wait_for("up", 3)
    shim, program = (cluster.pid_of("n2", run.id, what) for what in ("shim", "program"))
    cluster.lab.shell("n2", f"kill -STOP {shim} {program}")
    if ended_by == "INT":
        run.signal("INT")
    assert run.end(30) == (124 if ended_by == "timeout" else 130), run.said()
    cluster.settles(before, 5)


def test_what_a_killed_rank_had_said_is_not_lost(cluster, engines):
    """Slurm kills a rank of MPICH and its shim while the rank is in MPI_Abort, before the shim has read the message. Here the test kills
    a shim in that way, and muster still shows the message."""
    abort = "Abort(7) on node 1 (rank 1 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 7) - process 1"
    cluster.lab.shell("n2", "rm -f ~/go ~/said; mkfifo ~/go ~/said")
    run = cluster.start(engines["openmpi5"], "--", "sh", "-c",
                        f"echo up; [ $RANK = 1 ] || exec sleep 1000; read line < ~/go; echo last words; echo '{abort}' >&2; echo > ~/said; sleep 1000")
    run.wait_for("up", 3)
    shim = cluster.pid_of("n2", run.id, "shim")
    cluster.lab.shell("n2", f"kill -STOP {shim}; timeout 60 sh -c 'echo > ~/go; read line < ~/said' && kill -KILL {shim}")
    assert run.end(25) == 7, run.said()
    assert "[n2:1] last words" in run.out and f"[n2:1] {abort}\n" in run.errors, run.said()
    assert "muster: rank 1 on n2 ended with exit code 7" in run.errors, run.said()
