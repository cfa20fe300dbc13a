"""Shared by the tests of the rank shim: a pushed binary with a run, a fake warden that records what ranks report, and test programs."""
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import pytest
from tests.waiting import patient

TIMEOUT = patient(60)  # seconds


class Told:
    """What one rank process reported to the warden."""

    def __init__(self):
        self.events, self.streams, self.over = [], {"out": bytearray(), "err": bytearray()}, False


class FakeWarden:
    """Listens where the run's warden would, hands out an environment, and records what ranks report. While `held` is set, it reads
    nothing."""

    def __init__(self, folder):
        self.activated = None  # {name: value}, the environment after activation
        self.desk = socket.socket(socket.AF_UNIX)
        self.desk.bind(str(folder / "environment"))
        self.desk.listen(64)
        threading.Thread(target=self._hand_out, daemon=True).start()
        self.ranks, self.changed, self.held, self.connections = {}, threading.Condition(), threading.Event(), []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / "ranks"))
        self.listener.listen(64)
        threading.Thread(target=self._admit, daemon=True).start()

    def _hand_out(self):
        while True:
            try:
                connection, _ = self.desk.accept()
            except OSError:
                return
            memories = []
            for environment in [{}] if self.activated is None else [{}, self.activated]:
                memories.append(os.memfd_create("environment"))
                os.write(memories[-1], b"".join(f"{name}={value}\0".encode() for name, value in environment.items()))
            with connection:
                socket.send_fds(connection, [b"\n"], memories)
            for memory in memories:
                os.close(memory)

    def _admit(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._listen, args=(connection.makefile("rb"),), daemon=True).start()

    def _listen(self, stream):
        told = Told()
        while True:
            while self.held.is_set():
                time.sleep(0.01)
            line = stream.readline()
            if not line:
                break
            with self.changed:
                self._take(told, line, stream)
                self.changed.notify_all()
        with self.changed:
            told.over = True
            self.changed.notify_all()

    def _take(self, told, line, stream):
        if line == b"\n":  # the line that accompanies the descriptors
            return
        if line.startswith(b"\x1e"):
            count, which, at = re.fullmatch(rb"\x1e(\d+) (out|err) (\d+)\n", line).groups()
            assert int(at) == len(told.streams[which.decode()]), "a piece is missing, or came twice"
            told.streams[which.decode()] += stream.read(int(count))
            return
        event = json.loads(line)
        told.events.append(event)
        self.ranks[event["rank"]] = told

    def of(self, rank, condition=lambda told: told.over):
        """Waits until the condition holds for the rank's reports, by default until it has reported everything, and returns them."""
        with self.changed:
            assert self.changed.wait_for(lambda: rank in self.ranks and condition(self.ranks[rank]), TIMEOUT), f"rank {rank} does not tell"
            return self.ranks[rank]

    def close(self):
        """Closes all connections, as if the warden had been killed."""
        self.held.clear()
        for one in [self.listener, self.desk, *self.connections]:
            try:
                one.shutdown(socket.SHUT_RDWR)  # close() alone would leave a thread that waits on the socket, and the socket with it
            except OSError:  # already closed, or the rank has ended
                pass
        self.listener.close()
        self.desk.close()


class Place:
    """A binary at BASE/HASH/muster, as on a host to which muster pushed it, and a run on this host with a fake warden."""

    ENGINE = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
              "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMIX_RANK": "1"}
    # Prints the number of each signal that it receives; SIGTERM ends it.
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
        self.warden = FakeWarden(self.folder)

    def words(self, program, *flags, run=True):
        return [str(self.binary), "rank", *(["--run", self.run_id] if run else []), *flags, "--", *map(str, program)]

    def start(self, program, *flags, run=True, env=None, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen(self.words(program, *flags, run=run),
                                env=self.clean_environment(**(self.ENGINE if env is None else env)), process_group=0, **options)

    def run(self, program, *flags, rank=1, **options):
        """Returns (exit code, standard output, standard error) of the rank's program. None of the output reaches the engine."""
        self.warden.ranks.pop(rank, None)
        shim = self.start(program, *flags, **options)
        out, err = shim.communicate(timeout=TIMEOUT)
        assert (out, err) == (b"", b""), "the engine was told"
        told = self.warden.of(rank)
        return shim.returncode, told.streams["out"], told.streams["err"]

    def refused(self, program, *flags, **options):
        """Returns (exit code, the shim's output) for a rank whose program never starts."""
        shim = self.start(program, *flags, **options)
        out, err = shim.communicate(timeout=TIMEOUT)
        assert out == b""
        return shim.returncode, err

    def by_hand(self, program, *flags, **options):
        """Returns (exit code, stdout, stderr) of a rank that a user starts by hand."""
        shim = self.start(program, "--by-hand", *flags, **options)
        out, err = shim.communicate(timeout=TIMEOUT)
        return shim.returncode, out, err

    def bytes(self, rank, suffix):
        return self.warden.of(rank).streams[suffix]

    def events(self, rank=1):
        return self.warden.of(rank).events

    def lines(self, count, rank=1):
        """Returns the first lines of the rank's standard output once they have arrived."""
        told = self.warden.of(rank, lambda told: told.streams["out"].count(b"\n") >= count)
        return told.streams["out"].split(b"\n")[:count]

    def processes(self):
        """Returns all processes of the run. Each program has the run's name in its environment and passes it on."""
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
        """Returns our environment without variables that would tell a rank its number."""
        left_out = re.compile(r"(OMPI|PMIX?|SLURM|PET|MUSTER|TORCHELASTIC|PYTHON|MASTER|GLOO|NCCL|UCX)_|PYTHONUNBUFFERED$|(LOCAL_)?RANK$")
        return {k: v for k, v in os.environ.items() if not left_out.match(k)} | more

    @staticmethod
    def wait_for_end(pid):
        """Waits until the process, which is not our child, has ended."""
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
        """Returns a program that writes this many bytes, and those bytes."""
        code = ("import os\n"
                f"for i in range(0, {count}, 1000):\n"
                "    d = b''.join(b'%09d %s\\n' % (k, b'x' * (k * 7919 % 180)) for k in range(i, i + 1000))\n"
                "    while d: d = d[os.write(1, d):]\n")
        return Place.python(code), b"".join(b"%09d %s\n" % (k, b"x" * (k * 7919 % 180)) for k in range(count))


@pytest.fixture
def place(muster):
    base = Path(tempfile.mkdtemp(prefix="rank-"))  # short, because the path of a socket is limited
    place = Place(base, muster)
    yield place
    place.warden.close()
    deadline = time.monotonic() + patient(5)  # the guard may need a moment after the shim's end
    while (left := place.processes()) and time.monotonic() < deadline:
        time.sleep(0.01)
    for pid, _ in left:
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(base)
    assert not left, "processes outlived their rank"
