"""What the tests of the rank shim share: a pushed binary with a run, and programs to put under it."""
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from tests.waiting import patient

TIMEOUT = patient(60)  # seconds


class Place:
    """A pushed binary, BASE/HASH/muster, and a run on this host."""

    ENGINE = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
              "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMIX_RANK": "1"}
    # Prints the number of each signal that it waits for; SIGTERM ends it.
    COUNTING = """
import os, signal
wanted = [signal.SIGUSR1, signal.SIGTERM, signal.SIGRTMIN + 1]
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
print('ready', flush=True)
while True:
    got = signal.sigwaitinfo(wanted).si_signo
    print(int(got), flush=True)
    if got == signal.SIGTERM: break
"""

    def __init__(self, base, muster, host="n1"):
        self.base, self.binary, self.run_id = base, base / "hash/muster", "run-" + uuid.uuid4().hex
        self.folder = base / "runs" / self.run_id
        self.binary.parent.mkdir(parents=True)
        shutil.copy(muster, self.binary)
        self.folder.mkdir(parents=True, mode=0o700)
        self.folder.parent.chmod(0o700)
        (self.folder / "host").write_text(host + "\n")

    def words(self, program, *flags, run=True):
        return [str(self.binary), "rank", *(["--run", self.run_id] if run else []), *flags, "--", *map(str, program)]

    def start(self, program, *flags, run=True, env=None, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen(self.words(program, *flags, run=run),
                                env=self.clean_environment(**(self.ENGINE if env is None else env)), process_group=0, **options)

    def run(self, program, *flags, **options):
        """(exit code, stdout, stderr)"""
        shim = self.start(program, *flags, **options)
        out, err = shim.communicate(timeout=TIMEOUT)
        return shim.returncode, out, err

    def bytes(self, rank, suffix):
        return (self.folder / f"rank.{rank}.{suffix}").read_bytes()

    def events(self, rank=1):
        return [json.loads(line) for line in self.bytes(rank, "jsonl").splitlines()]

    def processes(self):
        """What runs of the run: every program has its name in its environment, and hands it on."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if f"MUSTER_RUN_ID={self.run_id}\0".encode() in (folder / "environ").read_bytes() + b"\0":
                    found.append((int(folder.name), (folder / "cmdline").read_bytes()))
            except OSError:
                pass
        return found

    @staticmethod
    def python(code):
        return [sys.executable, "-c", code]

    @staticmethod
    def clean_environment(**more):
        """Ours without what would tell a rank who it is."""
        left_out = re.compile(r"(OMPI|PMIX?|SLURM|PET|MUSTER|TORCHELASTIC|PYTHON|MASTER|GLOO|NCCL|UCX)_|PYTHONUNBUFFERED$|(LOCAL_)?RANK$")
        return {k: v for k, v in os.environ.items() if not left_out.match(k)} | more

    @staticmethod
    def wait_for_end(pid):
        """Until the process, which is not a child of ours, has ended."""
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            assert select.select([fd], [], [], TIMEOUT)[0], f"process {pid} goes on"
        finally:
            os.close(fd)

    @staticmethod
    def numbered_lines(count):
        """A program that writes them, and their bytes."""
        code = ("import os\n"
                f"for i in range(0, {count}, 1000):\n"
                "    d = b''.join(b'%09d %s\\n' % (k, b'x' * (k * 7919 % 180)) for k in range(i, i + 1000))\n"
                "    while d: d = d[os.write(1, d):]\n")
        return Place.python(code), b"".join(b"%09d %s\n" % (k, b"x" * (k * 7919 % 180)) for k in range(count))


@pytest.fixture
def place(tmp_path, muster):
    place = Place(tmp_path / "base", muster)
    yield place
    deadline = time.monotonic() + patient(5)  # after the shim's own end the guard may take its moment
    while (left := place.processes()) and time.monotonic() < deadline:
        time.sleep(0.01)
    for pid, _ in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, "processes outlived their rank"
