"""A rank goes missing, and the others must be told who and leave: shared by the tests of C++ and of Python programs."""
import re

from tests.mpi.mpis import Watched
from tests.waiting import patient, until

TIMEOUT_S = 12  # of operations in the programs of faults
# The shell is told of deaths by SIGUSR1 when MPICH's clean-up is off; it must not die of that, nor keep the program from it.
SAYS_WHEN_LEFT = ["sh", "-c", 'trap : USR1; "$@"; echo "left with $?"', "sh"]
# Rank 1 of three, and what the two others must say of it.
FAULTS = {"stopped": "rank 1 on n1 does not answer", "killed": "rank 1 on n1 does not answer", "late": "rank 1 on n1 has not called this operation"}


def chosen_faults(request):
    """Those of the tests of this file that are to be run."""
    params = [item.callspec.params for item in request.session.items if item.path == request.path and hasattr(item, "callspec")]
    return sorted({one["fault"] for one in params if "fault" in one})


class Troubles:
    """These faults of an MPI at once, since they wait for time to pass. `words` start the program, which is given the fault."""

    def __init__(self, lab, words, faults, within):
        self.lab, self.words, self.faults, self.within, self.jobs = lab, words, faults, within, {}

    def job(self, mpi, fault):
        """Its survivors have left."""
        if (mpi, fault) not in self.jobs:
            self.end()
            self.jobs.update({(mpi, each): Watched(mpi.command(self.lab, 3, [*SAYS_WHEN_LEFT, *self.words, each], keep_survivors=True)) for each in self.faults})
            for each in self.faults:
                job = self.jobs[mpi, each]
                until("both survivors leave", lambda job=job: len(job.times("left with 3")) >= 2 or job.process.poll() is not None, self.within)
        return self.jobs[mpi, fault]

    def end(self):
        for job in self.jobs.values():
            job.end()


def check_survivors(job, *expected, left_within):
    """Both were told, in time and in these words, and left soon after."""
    assert len(job.times("left with 3")) >= 2, job.said()
    told = [line for _, line in job.lines if re.match(r"rank [02]: after", line)]
    assert len(told) == 2 and all(text in line for line in told for text in expected), job.said()
    assert all(float(re.search(r"after ([\d.]+) s", line)[1]) < TIMEOUT_S + patient(2) for line in told), job.said()
    last_told = max(job.times("rank 0: after") + job.times("rank 2: after"))
    assert max(job.times("left with 3")[:2]) - last_told < patient(left_within), job.said()
