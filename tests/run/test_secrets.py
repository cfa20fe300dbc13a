"""The values of variables that muster passes to the ranks stay in memory, whatever is killed. Another user on the hosts can neither read
them nor affect the run."""
import hashlib
import re
import subprocess
import uuid
from pathlib import Path

import pytest
from tests.run.launchers import LAUNCHERS
from tests.waiting import until

pytestmark = pytest.mark.lab

UP_WITHIN_S = 60
# Searches a host for the values on standard input: all files that muster, the engines or a program might have written (but no sockets and
# FIFOs), and all command lines.
SEARCH = """
values=$(cat)
printf '%s\\n' "$values" | grep -rlsaF -D skip -f - /tmp /var/tmp /dev/shm /run /home
printf '%s\\n' "$values" | grep -lsaF -f - /proc/[0-9]*/cmdline
:"""

# Patterns of command lines, to find these processes on the launcher and on n2.
HERE = {"muster": r"^muster run", "keeper": r"^/proc/self/exe keeper"}
THERE = {"warden": r"/muster agent$"}


class SecretRun:
    """A run with two secrets: one from the launcher's environment, one that the activation sets. Neither is in a command line of the
    test."""

    def __init__(self, cluster, launcher, *flags):
        self.cluster, self.lab = cluster, cluster.lab
        self.values = {"PASSED": uuid.uuid4().hex, "ACTIVATED": uuid.uuid4().hex}
        half = [self.values["ACTIVATED"][:16], self.values["ACTIVATED"][16:]]
        activate = f"export ACTIVATED=$(printf %s {half[0]} {half[1]})"
        if launcher.engine == "torchrun":
            activate += "; source /opt/muster-deps/torch/bin/activate"
        before = set(cluster.processes())
        self.run = cluster.launch(
            ["sh", "-c", 'read PASSED; export PASSED; exec "$@" < /dev/null', "sh", "muster", "run", "-H", cluster.all, "--engine", launcher.engine, "-x", "PASSED",
             "--activate", activate, *flags, "--", "sh", "-c", "echo up $(printf %s $PASSED$ACTIVATED | sha256sum); exec sleep 1000"],
            launcher, stdin=subprocess.PIPE)
        self.run.process.stdin.write(self.values["PASSED"].encode() + b"\n")
        self.run.process.stdin.close()
        digest = hashlib.sha256("".join(self.values.values()).encode()).hexdigest()
        self.run.wait_for(rf"up {digest}", 3, within=UP_WITHIN_S)  # the ranks have both
        self.processes = cluster.processes() - before

    def kill(self, what):
        pid = self.pid(what)
        self.lab.shell("launcher" if what in HERE or what == "engine" else "n2", f"kill -KILL {pid}")
        return pid

    def pid(self, what):
        if what == "engine":
            return self.cluster.mpirun_pid(self.run)
        if what in ("runner", "program"):
            return self.cluster.pid_of("n2", self.run.id, {"runner": "shim"}.get(what, what))
        if what in ("front", "daemon"):
            runner = self.cluster.pid_of("n2", self.run.id, "shim")
            front = self.parent(runner)
            return front if what == "front" else self.parent(front)
        host, pattern = ("launcher", HERE[what]) if what in HERE else ("n2", THERE[what])

        def the_only_one():  # a process that was just forked has the command line of its parent for a moment
            found = [pid for where, pid, args in self.cluster.processes() if where == host and re.search(pattern, args)]
            return found if len(found) == 1 else None

        return until(f"exactly one {what}", the_only_one, 5)[0]

    def parent(self, pid):
        return int(self.lab.shell("n2", f"ps -o ppid= -p {pid}"))

    def found(self):
        """Returns files and command lines with a secret, on all hosts."""
        return [(host, line) for host in ["launcher", *self.lab.hosts]
                for line in self.lab.shell(host, SEARCH, root=True, input="\n".join(self.values.values())).splitlines()]


@pytest.fixture(params=[pytest.param(one, marks=[] if one.name == "openmpi5" else pytest.mark.campaign)
                        for one in LAUNCHERS if one.name in ("openmpi5", "openmpi4", "mpich", "intel", "torchrun")], ids=repr)
def launcher(request):
    return request.param


def new_warden(cluster, host, old):
    return [pid for where, pid, args in cluster.processes() if where == host and args.endswith("/muster agent") and pid != old]


def test_no_secret_is_left_by_killed_helpers_or_a_host_that_was_cut_off(cluster, launcher):
    """First kills two processes that muster replaces or does without, then muster itself. Nobody is left to tell n3, which is cut off,
    that the run is over."""
    before = cluster.processes()
    run = SecretRun(cluster, launcher, "--orphan-after", "5")
    assert run.found() == []
    cluster.lab.write("n2", "/tmp/told", f"x{run.values['ACTIVATED']}x", mode="600")
    assert run.found() == [("n2", "/tmp/told")]  # proves that the search works
    cluster.lab.shell("n2", "rm /tmp/told")
    run.kill("keeper")
    old = run.kill("warden")
    until("a new warden", lambda: new_warden(cluster, "n2", old), 30)
    cluster.lab.command("cut", "n3")
    try:
        run.kill("muster")
        until("every host has ended the run by itself", lambda: not [one for one in cluster.processes() - before if one[0] != "launcher"], 30)
    finally:
        cluster.lab.command("mend", "n3")
    cluster.settles(before, 30)
    assert run.found() == []


@pytest.mark.campaign
@pytest.mark.parametrize("what", ["muster", "keeper", "warden", "front", "runner", "program", "daemon", "engine"])
def test_no_secret_is_left_after_a_kill_of(cluster, launcher, what):
    if what == "engine" and launcher.engine == "torchrun":
        pytest.skip("torchrun has no process on the launcher")
    before = cluster.processes()
    run = SecretRun(cluster, launcher)
    owner = str(run.run.owner)
    run.kill(what)
    if what in ("keeper", "warden", "daemon"):  # the run has not ended; without its daemon, it goes on under MPICH only
        cluster.lab.exec("launcher", "kill", "-TERM", owner)
    run.run.end(40)
    cluster.settles(before, 30)
    assert run.found() == []


@pytest.mark.campaign
def test_no_secret_is_left_on_a_lost_host_that_comes_back(cluster, launcher):
    before = cluster.processes()
    run = SecretRun(cluster, launcher, "--lost-after", "6", "--orphan-after", "6")
    cluster.lab.command("cut", "n2")
    try:
        assert run.run.end(40) != 0
    finally:
        cluster.lab.command("mend", "n2")
    cluster.settles(before, 30, may_end=True)
    assert run.found() == []


OTHER = 4242  # a uid that no user of the lab has
AS_OTHER = ("setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups")
SNOOP = Path(__file__).with_name("programs") / "snoop.py"


def test_another_user_learns_nothing_and_ends_nothing(cluster, launcher):
    run = SecretRun(cluster, launcher)
    for host in ("launcher", "n2"):
        cluster.lab.write(host, "/tmp/snoop.py", SNOOP.read_text())
        snoop = ["python3", "/tmp/snoop.py", str(cluster.lab.uid)]
        secrets = "\n".join(run.values.values())
        assert cluster.lab.exec(host, *AS_OTHER, *snoop, root=True, input=secrets, check=True).stdout == "", host
        to_its_own_user = cluster.lab.exec(host, *snoop, input=secrets, check=True).stdout  # proves that the probe works
        assert "read environ" in to_its_own_user and "could kill" in to_its_own_user and "connected to" in to_its_own_user, (host, to_its_own_user)
    run.run.signal("TERM")
    assert run.run.end(40) == 143, run.run.said()


def test_names_that_another_user_took_block_nothing_or_are_named(cluster, launcher):
    """Another user takes the names of all three directories that muster may use on a host, and muster names the last one. When that one is
    free again, the run succeeds."""
    bases = [f"{folder}/muster-{cluster.lab.uid}" for folder in ("/tmp", "/var/tmp", "/dev/shm")]
    take = f"ln -s /home {bases[0]}; mkfifo {bases[1]}; mkdir -m 777 {bases[2]}"
    cluster.lab.shell("n2", f"rm -rf {' '.join(bases)}; exec {' '.join(AS_OTHER)} sh -c '{take}'", root=True)
    try:
        refused = cluster.run(launcher, "--", "true", hosts="n2")
        assert refused.code != 0 and re.search(rf"n2 +{bases[2]} belongs to another user", refused.errors), refused.said()
        assert "administrator" in refused.errors, refused.said()
        cluster.lab.shell("n2", f"rm -rf {bases[2]}", root=True)
        assert cluster.run(launcher, "--", "true", hosts="n2").code == 0
    finally:
        cluster.lab.shell("n2", f"rm -rf {' '.join(bases)}", root=True)
