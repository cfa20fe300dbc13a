"""A rank fails, and the others must learn which one and exit. Shared by the tests of C++ and Python programs."""
import re

from tests.mpi.mpis import Watched
from tests.waiting import patient, until

TIMEOUT_S = 12  # time-out of operations in the fault programs
# With MPICH's clean-up off, SIGUSR1 tells processes about deaths. `trap :` keeps the shell alive without making the program
# ignore the signal.
SAYS_WHEN_LEFT = ["sh", "-c", 'trap : USR1; "$@"; echo "left with $?"', "sh"]
# How rank 1 of three fails, and what the two others must say about it.
FAULTS = {"stopped": "rank 1 on n1 does not answer", "killed": "rank 1 on n1 does not answer", "late": "rank 1 on n1 has not called this operation"}


def chosen_faults(request):
    """Returns the faults that the selected tests of this file need."""
    params = [item.callspec.params for item in request.session.items if item.path == request.path and hasattr(item, "callspec")]
    return sorted({one["fault"] for one in params if "fault" in one})


class Troubles:
    """Runs the faults with one MPI, all at the same time because they mostly wait. `words` start the program, which gets the fault
    as its argument."""

    def __init__(self, lab, words, faults, within):
        self.lab, self.words, self.faults, self.within, self.jobs = lab, words, faults, within, {}

    def job(self, mpi, fault):
        """Waits until the job's survivors have left, and returns the job."""
        if (mpi, fault) not in self.jobs:
            self.end()
            self.jobs.update({(mpi, each): Watched(mpi.command(self.lab, 3, [*SAYS_WHEN_LEFT, *self.words, each], keep_survivors=True)) for each in self.faults})
            for each in self.faults:
                job = self.jobs[mpi, each]
                until("both survivors leave", lambda job=job: len(job.times("left with 3")) >= 2 or not job.reader.is_alive(), self.within)
        return self.jobs[mpi, fault]

    def end(self):
        for job in self.jobs.values():
            job.end()


def check_survivors(job, *expected, left_within):
    """Checks that both survivors got this error in time, and exited soon after."""
    assert len(job.times("left with 3")) >= 2, job.said()
    told = [line for _, line in job.lines if re.match(r"rank [02]: after", line)]
    assert len(told) == 2 and all(text in line for line in told for text in expected), job.said()
    assert all(float(re.search(r"after ([\d.]+) s", line)[1]) < TIMEOUT_S + patient(2) for line in told), job.said()
    last_told = max(job.times("rank 0: after") + job.times("rank 2: after"))
    assert max(job.times("left with 3")[:2]) - last_told < patient(left_within), job.said()
