"""What all comparisons share: a lab to measure on, interleaved timing, one JSON line per comparison. Some tests use it too."""
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MUSTER = Path(os.environ.get("MUSTER", ROOT / "build/release/bin/muster")).resolve()
DEPS = Path(os.environ.get("MUSTER_DEPS", "/opt/muster-deps"))


# MPI listens on every network that it finds; here it finds only loopback.
OWN_NETWORK = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def build(*targets):
    """Builds programs that only comparisons need, because the whole build leaves them out."""
    subprocess.run(["cmake", "--build", ROOT / "build/release", "--target", *targets], check=True, stdout=sys.stderr)


def free_port():
    """Returns a free port below those that the kernel assigns to outgoing connections. A rank that connects before rank 0 listens could
    otherwise be assigned this very port, and be connected to itself."""
    for port in random.sample(range(10000, 30000), 50):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return str(port)
    raise RuntimeError("50 ports are taken")


def say(text):
    print(text, file=sys.stderr, flush=True)


class Lab:
    """A lab whose launcher can log in to all hosts with a key."""

    def __init__(self, name, hosts):
        self.name, self.hosts = name, [f"n{i + 1}" for i in range(hosts)]
        self.expression = f"n[1-{hosts}]"

    def lab(self, *words, **options):
        return subprocess.run([MUSTER, "lab", words[0], "--name", self.name, *words[1:]], check=True,
                              capture_output=True, text=True, timeout=300, **options).stdout

    def status(self):
        return json.loads(self.lab("status", "--json"))

    def exec(self, host, *argv, root=False, check=False):
        """Runs a command on a host's console."""
        return subprocess.run([MUSTER, "lab", "exec", "--name", self.name, *(["--root"] if root else []), host, "--", *argv], check=check,
                              capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)

    def words(self, argv, env=None):
        pairs = [f"{name}={value}" for name, value in (env or {}).items()]
        return [str(MUSTER), "lab", "exec", "--name", self.name, "launcher", "--", "env", *pairs, *argv]

    def run(self, argv, env=None, timeout=120, input=""):
        """Runs a command on the launcher as the ordinary user, and returns the whole result."""
        return subprocess.run(self.words(argv, env), capture_output=True, text=True, timeout=timeout, input=input)

    def set_up(self):
        password = self.status()["password"]
        script = ("cd && umask 077 && cat > pw && muster setup -H \"$1\" --password-file pw --yes && rm pw")
        subprocess.run(self.words(["sh", "-c", script, "sh", self.expression]), input=password, text=True, check=True,
                       capture_output=True, timeout=600)

    def close_connections(self):
        """Closes all shared connections of the launcher, muster's and plain ssh's, so that the next command has to log in again."""
        script = ('for s in "$HOME"/.ssh/muster/cm/*; do [ -S "$s" ] && ssh -o ControlPath="$s" -O exit x; done 2>/dev/null; '
                  'for i in $(seq 100); do ls "$HOME"/.ssh/muster/cm/* >/dev/null 2>&1 || exit 0; sleep 0.05; done; exit 1')
        done = self.run(["sh", "-c", script])
        assert done.returncode == 0, "a connection stays open"


@contextmanager
def lab(hosts, *flags, name="", set_up=True):
    one = Lab(name or "b" + uuid.uuid4().hex[:8], hosts)
    say(f"bringing up {hosts} hosts")
    one.lab("up", "--nodes", str(hosts), *flags)
    try:
        if set_up:
            one.set_up()
        yield one
    finally:
        one.lab("down")


def take_turns(name, sides, count, text=lambda seconds: f"{seconds:.3f} s"):
    """Calls the functions in `sides` ({side: function}) in turn, `count` times each. Returns what each returned: {side: [value]}."""
    values = {side: [] for side in sides}
    for number in range(count):
        # The order alternates, so that no side always pays for what another left behind.
        order = list(sides.items()) if number % 2 == 0 else list(sides.items())[::-1]
        for side, measure in order:
            values[side].append(measure())
        say(f"{name} {number + 1}/{count}: " + ", ".join(f"{side} {text(of_side[-1])}" for side, of_side in values.items()))
    return values


def report(name, values, unit="s", note=""):
    """Prints the medians of `values`, which is {"ours": [number], "peer": [number]}, as one comparison."""
    ours, peer = (statistics.median(values[side]) for side in ("ours", "peer"))
    spread = {side: [round(min(v), 4), round(max(v), 4)] for side, v in values.items()}
    print(json.dumps({"name": name, "ours": round(ours, 4), "peer": round(peer, 4), "ratio": round(ours / peer, 4) if peer else None,
                      "n": len(values["ours"]), "unit": unit, "spread": spread, **({"note": note} if note else {})}), flush=True)


def compare(name, sides, count, note=""):
    """Compares two functions, {"ours": f, "peer": f}. Each prepares itself and returns the seconds that it measured."""
    report(name, take_turns(name, sides, count), note=note)


def timed(run, accept):
    """Returns the seconds that `run` took. `accept` must approve its result."""
    start = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - start
    assert accept(result), f"exit code {result.returncode}\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}"
    return seconds
