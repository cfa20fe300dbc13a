"""A job on lab hosts that is inspected while it runs. Used by the campaigns inspections, stragglers
and inspection_time."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "comparisons")]
from campaigns.hangs.project import make_environment  # noqa: E402
from comparison import DEPS, MUSTER  # noqa: E402

PATIENCE = float(os.environ.get("MUSTER_PATIENCE", "1"))  # larger on a shared machine
START_WITHIN = 180 * PATIENCE
WHY_WITHIN = 120 * PATIENCE
ENGINES = {"mpi": "openmpi", "gloo": "torchrun"}
PATH = f"{DEPS}/openmpi/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@contextlib.contextmanager
def shared_folder():
    """Makes a folder for `muster lab up --share`, in which every user may write."""
    folder = Path(tempfile.mkdtemp(prefix="muster-why-job-", dir="/opt"))
    folder.chmod(0o777)
    try:
        shutil.copy(HERE / "train.py", folder)
        yield folder
    finally:
        shutil.rmtree(folder)


class Running:
    """A `muster run` on these hosts, from the launcher. It is stopped at the end of the `with` block."""

    def __init__(self, hosts, engine, per_host, program, flags=()):
        self.hosts, self.lines, self.changed = hosts, [], threading.Condition()
        line = ["muster", "run", "--engine", engine, "-H", f"{hosts.expression}:{per_host}", "-x", "OMP_NUM_THREADS=1", *flags, "--", *map(str, program)]
        self.process = subprocess.Popen(self.words(line), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    @classmethod
    def train(cls, hosts, folder, backend, *args, per_host=1):
        """Starts train.py with muster-torch and py-spy."""
        activate = f"source {make_environment(has_muster_torch=True, has_pyspy=True)}/bin/activate"
        return cls(hosts, ENGINES[backend], per_host, ["python", folder / "train.py", "--backend", backend, *args], ["--activate", activate])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            with contextlib.suppress(subprocess.SubprocessError):
                subprocess.run(self.words(["muster", "stop", "--timeout", "20", "last"]), stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=20)
        if self.process.poll() is None:
            self.process.kill()
        self.reader.join(timeout=20)

    def words(self, line):
        return self.hosts.words(["sh", "-c", 'cd && exec "$@"', "sh", *map(str, line)], {"PATH": PATH})

    def read(self):
        for text in self.process.stdout:
            with self.changed:
                self.lines.append(text)
                self.changed.notify_all()
        self.process.wait()
        with self.changed:
            self.changed.notify_all()

    def printed(self, pattern):
        """Returns every match in the ranks' output so far."""
        return [match for text in list(self.lines) if (match := re.match(r"\[[^\]]*\] " + pattern, text))]

    def wait_for(self, pattern, within=START_WITHIN):
        end = time.monotonic() + within
        with self.changed:
            while not self.printed(pattern):
                if self.process.poll() is not None and not self.reader.is_alive():
                    raise RuntimeError(f"the run ended before {pattern}: {''.join(self.lines[-20:])}")
                if time.monotonic() > end:
                    raise RuntimeError(f"no {pattern} within {within:.0f} s: {''.join(self.lines[-20:])}")
                self.changed.wait(1)

    def why(self, *flags):
        """Returns (verdict of `muster why --json`, seconds that it took). Raises an exception if there
        is none."""
        words = self.words(["timeout", "-k", "5", str(WHY_WITHIN), "muster", "why", "--json", *flags])
        started = time.monotonic()
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=WHY_WITHIN + 30)
        seconds = time.monotonic() - started
        if done.returncode:
            raise RuntimeError(f"muster why ended with exit code {done.returncode}: {(done.stdout + done.stderr)[-1000:]}")
        return json.loads(done.stdout), seconds

    def scene(self):
        """Returns all evidence of the last inspection, from which muster can judge again."""
        newest = 'cat "$(ls -td .local/state/muster/runs/*/why-*/scene.json | head -n 1)"'
        return subprocess.run(self.words(["sh", "-c", newest]), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60).stdout

    def wait(self, within):
        """Waits for the end of `muster run` and returns its exit code."""
        code = self.process.wait(timeout=within)
        self.reader.join(timeout=20)
        return code


def accused(verdict):
    """Returns the hosts and ranks that the verdict names as text, or "nobody" if it names none."""
    hosts, ranks = verdict["hosts"], verdict["ranks"]
    return f"{','.join(hosts) or '?'} ({', '.join(f'rank {rank}' for rank in ranks) or 'no rank'})" if hosts or ranks else "nobody"


def conditions():
    """Returns a text that says when, where and with which binary this was measured."""
    commit = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    return f"{time.strftime('%Y-%m-%d', time.gmtime())}, commit {commit}, {MUSTER.name} of {time.strftime('%Y-%m-%d %H:%M', time.gmtime(MUSTER.stat().st_mtime))}, {os.cpu_count()} processors for all hosts, load average {load}"
