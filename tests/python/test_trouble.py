"""A missing rank is named, nothing hangs or leaks, and other code in the process may use MPI too."""
import re
from pathlib import Path

import pytest
from tests.mpi.mpis import MPIS
from tests.mpi.survivors import FAULTS, Troubles, check_survivors, chosen_faults

pytestmark = pytest.mark.lab
OPENMPI5, _, MPICH, _ = MPIS


@pytest.fixture(scope="module")
def words(python, scripts):
    """Returns words(fault), which returns the command that makes this fault happen."""
    return lambda *what: [python, "-W", "ignore", scripts / "programs/trouble.py", *what]


@pytest.fixture(scope="module")
def troubles(request, words, host):
    troubles = Troubles(host, words(), chosen_faults(request), within=100)
    yield troubles
    troubles.end()


@pytest.mark.alone
@pytest.mark.parametrize("fault", [pytest.param(fault, marks=[] if fault == "killed" else pytest.mark.campaign) for fault in FAULTS])  # tests/mpi has the others
@pytest.mark.parametrize("mpi", [OPENMPI5, pytest.param(MPICH, marks=pytest.mark.campaign)], ids=str)
def test_survivors_are_told_who_is_missing_and_leave(host, troubles, mpi, fault):
    check_survivors(troubles.job(mpi, fault), "DistBackendError", FAULTS[fault], left_within=10)
    # hydra does not reap its own children while a rank is stopped, but no rank may be among them.
    assert [line for line in host.shell("n1", "ps -eo stat=,pid=,args=").splitlines() if line.startswith("Z") and "python" in line] == []


@pytest.mark.parametrize("mpi", [OPENMPI5, pytest.param(MPICH, marks=pytest.mark.campaign)], ids=str)
def test_a_rank_that_raises_ends_the_job_at_once(host, words, mpi):
    """At its exit, the failed rank does not wait for the ranks that wait for it. So the launcher sees that it
    has left, and ends the others."""
    done = mpi.run(host, 3, words("raises"), within=60)
    assert done.returncode != 0 and "ValueError: a bug of the script's own" in done.stderr


@pytest.mark.parametrize("what", ["forks", "never_destroyed", "not_waited_for", "beside_gloo", "first_group_of_some", "other_numbers", "by_device", "refused_groups"])
def test_a_good_job(host, words, what):
    done = OPENMPI5.run(host, 2, words(what))
    assert (done.returncode, done.stdout) == (0, "good\ngood\n"), done.stdout + done.stderr


@pytest.mark.parametrize("mpi, count", [(OPENMPI5, 50), *(pytest.param(*one, marks=pytest.mark.campaign) for one in ((OPENMPI5, 200), (MPICH, 2100)))], ids=str)
def test_groups_come_and_go_without_a_trace(host, words, mpi, count):
    """MPICH has at most 2048 communicators at a time, so 2100 cycles would fail if each leaked even one."""
    done = mpi.run(host, 2, words("cycles", str(count)), within=200)
    assert done.returncode == 0, done.stdout + done.stderr
    grown = re.findall(r"rank \d: grew by (-?\d+) kB and (-?\d+) files", done.stdout)
    assert len(grown) == 2 and all(int(kilobytes) < 2000 and int(files) == 0 for kilobytes, files in grown), done.stdout


@pytest.mark.parametrize("order", ["mpi4py_first", "mpi4py_second"])
@pytest.mark.parametrize("mpi", [OPENMPI5, pytest.param(MPICH, marks=pytest.mark.campaign)], ids=str)
def test_beside_mpi4py(host, words, mpi, order):
    library = Path(mpi.mpirun).parent.parent / "lib"
    done = mpi.run(host, 2, words(order), env={"LD_LIBRARY_PATH": library})
    assert (done.returncode, done.stdout) == (0, "good\ngood\n"), done.stdout + done.stderr


def test_mpi4py_with_one_thread_is_refused_in_words(host, words):
    done = MPICH.run(host, 2, words("mpi4py_single"), env={"LD_LIBRARY_PATH": Path(MPICH.mpirun).parent.parent / "lib"})
    assert done.stdout.count("the program initialised MPI without MPI_THREAD_MULTIPLE") == 2, done.stdout + done.stderr
