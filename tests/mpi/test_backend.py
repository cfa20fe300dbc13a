"""The MPI backend with real MPIs: every collective gives the right result, and faults end with the name of a rank instead of a
hang."""
import re
import subprocess

import pytest
from tests.mpi.mpis import MPIS, Watched
from tests.mpi.survivors import FAULTS, SAYS_WHEN_LEFT, Troubles, check_survivors, chosen_faults
from tests.waiting import patient, until
from tests.staging import staged
from tests.torch.conftest import Ranks

pytestmark = pytest.mark.lab
SIZES = [1, 2, 4]
# Ranks that wait for each other poll. With more ranks than CPUs that takes minutes on a busy machine, so CI tests one MPI of each
# ABI.
SOME_IN_CI = [pytest.param(mpi, id=str(mpi), marks=[] if mpi.name in ("openmpi5", "mpich") else pytest.mark.campaign) for mpi in MPIS]
ONE_IN_CI = [pytest.param(mpi, id=str(mpi), marks=[] if mpi.name == "openmpi5" else pytest.mark.campaign) for mpi in MPIS]
SIZES_IN_CI = (("openmpi5", 4), ("mpich", 1))


@pytest.fixture(scope="module")
def program(muster):
    """Yields program(name), which returns a test program for libmuster's MPI backend in a place that lab hosts see."""
    built = [muster.parent / name for name in ("mpi_conformance", "mpi_trouble", "waiting_free_openmpi.so", "waiting_free_mpich.so")]
    for path in built:
        assert path.exists(), f"{path} is not built; configure with -DMUSTER_TRAINING=ON and build"
    with staged(muster.parent.parent, *built) as folder:
        yield lambda name: folder / name


@pytest.fixture(scope="module")
def host(module_lab_up, program):
    """A lab with one host, so that MPI listens on that host's network, not on the machine's."""
    return module_lab_up(hosts=1)


def cases_passed(text):
    """Returns {rank: (passed, failed)}."""
    found = re.findall(r"conformance: \w+, rank (\d) of \d: (\d+) cases passed, (\d+) failed", text)
    return {int(rank): (int(passed), int(failed)) for rank, passed, failed in found}


@pytest.mark.parametrize("mpi, size", [pytest.param(mpi, size, id=f"{mpi}-{size}", marks=[] if (mpi.name, size) in SIZES_IN_CI else pytest.mark.campaign)
                                       for mpi in MPIS for size in (SIZES if mpi in (MPIS[0], MPIS[2]) else SIZES[-1:])])
def test_conformance(program, host, mpi, size):
    done = mpi.run(host, size, [program("mpi_conformance"), "mpi"])
    assert done.returncode == 0, done.stdout + done.stderr
    passed = cases_passed(done.stdout)
    assert sorted(passed) == list(range(size)), done.stdout
    assert all(count >= 2700 and failed == 0 for count, failed in passed.values()), done.stdout


@pytest.mark.parametrize("size", [*SIZES[:-1], pytest.param(SIZES[-1], marks=pytest.mark.campaign)])
def test_gloo_agrees(program, size):
    """Gloo passes the suite too, as far as it supports the operations. So the suite is not tailored to our backend."""
    passed = cases_passed("".join(Ranks([program("mpi_conformance"), "gloo"], size).good()))
    assert sorted(passed) == list(range(size))
    assert all(count >= 400 and failed == 0 for count, failed in passed.values()), passed


@pytest.mark.parametrize("mpi", [MPIS[0], pytest.param(MPIS[2], marks=pytest.mark.campaign)], ids=str)
def test_more_elements_than_one_call_takes(program, host, mpi):
    """Simulates more than 2^31 elements with a limit of 100: reductions in pieces, derived types for everything else."""
    done = mpi.run(host, 3, [program("mpi_conformance"), "mpi"], env={"MUSTER_MPI_MOST_ELEMENTS": 100})
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(cases_passed(done.stdout)) == [0, 1, 2]


@pytest.mark.parametrize("count", [2000, pytest.param(10000, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("mpi", SOME_IN_CI)
def test_mixed_operations_in_random_order(program, host, mpi, count):
    done = mpi.run(host, 4, [program("mpi_trouble"), "mixed", str(count), "7"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank}: {count} operations are right" for rank in range(4)]


@pytest.mark.parametrize("mpi", SOME_IN_CI)
def test_groups_and_works_dropped_in_flight(program, host, mpi):
    done = mpi.run(host, 2, [program("mpi_trouble"), "in-flight"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == ["rank 0: all ended", "rank 1: all ended"]


@pytest.mark.parametrize("mpi", SOME_IN_CI)
def test_groups_dropped_in_different_orders(program, host, mpi):
    """Ranks may drop groups in different orders, even if MPI_Comm_free waits for all members of the communicator."""
    waiting_free = program(f"waiting_free_{'openmpi' if mpi.name.startswith('openmpi') else 'mpich'}.so")
    done = mpi.run(host, 2, ["env", f"LD_PRELOAD={waiting_free}", program("mpi_trouble"), "crossed"])
    assert done.returncode == 0, done.stdout + done.stderr
    # Each rank makes six groups, in three rounds. It frees four of them itself, and MPI_Finalize frees the last two.
    assert sorted(done.stdout.splitlines()) == ["freed"] * 8 + ["rank 0: dropped", "rank 1: dropped"]


@pytest.fixture(scope="module")
def troubles(request, program, module_lab_up):
    troubles = Troubles(module_lab_up(hosts=1), [program("mpi_trouble")], chosen_faults(request), within=60)
    yield troubles
    troubles.end()


@pytest.mark.alone
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("mpi", ONE_IN_CI)
def test_survivors_learn_who_is_missing_and_leave(troubles, mpi, fault):
    check_survivors(troubles.job(mpi, fault), FAULTS[fault], left_within=5)


@pytest.mark.parametrize("mpi", MPIS[:1], ids=str)
def test_a_message_that_nobody_sends(program, host, mpi):
    """Rank 0's recv names the sender. Rank 1, which saw no error, does not wait in MPI_Finalize for ever."""
    job = Watched(mpi.command(host, 2, [*SAYS_WHEN_LEFT, program("mpi_trouble"), "lonely"], keep_survivors=True))
    try:
        until("both leave", lambda: job.times("left with 3") and job.times("left with 0"), within=60)
        assert "recv of 4 Float, did not end within 12 s: rank 1 on n1" in job.said()
    finally:
        job.end()


@pytest.mark.campaign
@pytest.mark.parametrize("mpi", MPIS, ids=str)
def test_huge_messages(program, host, mpi):
    done = mpi.run(host, 2, [program("mpi_trouble"), "huge"], within=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("2147483659 elements are right") == 2


def test_no_mpi_says_what_was_looked_for(program):
    environment = {"PATH": "/usr/bin:/bin", "MUSTER_MPI_LIBRARY": "/nowhere/libmpi.so"}
    done = subprocess.run([program("mpi_conformance"), "mpi"], env=environment, capture_output=True, text=True, timeout=patient(60))
    assert done.returncode != 0
    assert "found no MPI library" in done.stderr and "/nowhere/libmpi.so (MUSTER_MPI_LIBRARY)" in done.stderr, done.stderr
