"""Failures under every engine. muster must name the right rank and host, exit with the right code, end soon and leave nothing behind,
and not affect another run on the same hosts.

In CI, two engines have most of the faults, and others one or two. campaigns/outcomes runs the whole table and writes
docs/results/outcomes.md.
"""
import json
import os
import re
import shlex
import subprocess
import time

import pytest
from tests.run.conftest import Bystander
from tests.run.launchers import LAUNCHERS, Pods, Slurm
from tests.run.result_table import write_table
from tests.run.slurm import Slurm as SlurmDaemons
from tests.run.slurm import crashed_as_open_mpi_does
from tests.schemas import described
from tests.waiting import PATIENCE, patient

pytestmark = pytest.mark.lab

WITHIN_S = 25
UP_WITHIN_S = 90  # torchrun, on a busy machine
# A program that does not end by itself: it ignores SIGTERM, and has a grandchild in a separate session.
STUBBORN = ["sh", "-c", "trap '' TERM INT; setsid sleep 1000 & echo up; while :; do sleep 1; done"]


def brought_up(launcher, start, first=None):
    """Returns the run `first`, or one that start() starts, once its three ranks are up. After a known crash of Open MPI, starts another."""
    for _ in range(3):
        run, first = first or start(), None
        try:
            run.wait_for(r"^\[n\d:\d\] up", 3, within=UP_WITHIN_S)
            return run
        except AssertionError:
            has_ended = isinstance(launcher, Slurm) and run.open_streams == 0
            if not has_ended or not crashed_as_open_mpi_does(run.end(), run.errors):
                raise
    pytest.fail(f"Open MPI crashed three times:\n{run.said()}")


def ended_by_rank_1(cluster, launcher, code):
    """Starts a training in which rank 1 exits with this code. Without muster, the others would wait for ever."""
    return brought_up(launcher, lambda: launcher.start(cluster, [*launcher.native(cluster.programs), "fail", "1", str(code)]))


def exit_code(cluster, launcher):
    run = ended_by_rank_1(cluster, launcher, 3)
    assert run.end(WITHIN_S) == 3, run.said()
    assert "muster: rank 1 on n2 ended with exit code 3" in run.errors, run.said()
    assert f"muster logs {run.id} --rank 1" in run.errors, run.said()
    return "3"


def segv(cluster, launcher):
    run = ended_by_rank_1(cluster, launcher, -11)
    assert run.end(WITHIN_S) == 139, run.said()
    assert "muster: rank 1 on n2 ended with signal 11 (Segmentation fault)" in run.errors, run.said()
    return "139"


def aborted(cluster, launcher, *message):
    """MPI_Abort on rank 1, in the middle of training. Without an MPI the rank just exits."""
    run = brought_up(launcher, lambda: launcher.start(cluster, [*launcher.native(cluster.programs), "abort", "1", "7", *message]))
    assert run.end(WITHIN_S) == 7, run.said()
    assert "muster: rank 1 on n2 ended with exit code 7" in run.errors, run.said()
    for words in message:
        assert re.search(rf"(\[n2:1\]|  \|) {words}\n", run.errors), run.said()
    return "7"


def silent_abort(cluster, launcher):
    return aborted(cluster, launcher)


def abort_with_message(cluster, launcher):
    return aborted(cluster, launcher, "the loss is not a number")


def terminated(cluster, launcher):
    """Another process ends rank 1's program with SIGTERM. Intel MPI catches it, and its rank exits with 1."""
    code, verdict = (1, "exit code 1") if launcher.mpi == "intel" else (143, "signal 15 (Terminated)")
    for last in (False, True):
        run = brought_up(launcher, lambda: launcher.start(cluster, [*launcher.native(cluster.programs), "forever"]))
        cluster.lab.shell("n2", f"kill -TERM {cluster.pid_of('n2', run.id, 'program')}")
        ended = run.end(WITHIN_S)
        # With MPICH 5.0.2, another rank crashed once (signal 11), presumably because it had lost its connection to rank 1. Its host noticed
        # that before n2 noticed the end of rank 1, so muster named that rank first.
        if last or launcher.mpi != "mpich" or ended != 139:
            break
    assert ended == code, run.said()
    assert f"muster: rank 1 on n2 ended with {verdict}" in run.errors, run.said()
    return str(code)


def init_error(cluster, launcher):
    """MPI cannot start on rank 1. Without an MPI, the rank prints an error and exits."""
    wrong = {"openmpi": "OMPI_MCA_btl=none_such OMPI_MCA_pml=ob1", "mpich": "UCX_TLS=none_such", "intel": "I_MPI_OFI_PROVIDER=none_such FI_PROVIDER=none_such"}
    program = shlex.join([*launcher.native(cluster.programs), "forever"])
    kind = next((one for one in wrong if (launcher.mpi or "").startswith(one)), None)
    instead = f"export {wrong[kind]}; exec {program}" if kind else "echo no MPI here >&2; exit 1"
    flags = ["--engine", "slurm", f"--engine-arg=--mpi={launcher.pmi}"] if isinstance(launcher, Slurm) else []  # `sh` does not tell muster which PMI is needed
    run = launcher.start(cluster, ["sh", "-c", f"if [ $RANK = 1 ]; then {instead}; fi; exec {program}"], *flags)
    assert run.end(WITHIN_S + launcher.up_within_s) not in (0, 125), run.said()
    assert "muster: rank 1 on n2 ended with " in run.errors, run.said()
    assert re.search(r"(\[n2:1\]|  \|) \S", run.errors), run.said()  # whatever it printed
    return "not 0"


def in_python(cluster, launcher, how, code, verdict, words, named="rank 1 on n2"):
    """One rank of a script fails while the others wait in a collective."""
    flags, script = launcher.failing(cluster.programs, how)
    run = brought_up(launcher, lambda: launcher.start(cluster, script, *flags))
    assert run.end(WITHIN_S) == code, run.said()
    assert re.search(f"^muster: {named} {re.escape(verdict)}", run.errors, re.M), run.said()
    assert re.search(rf"(\[n\d:\d\]|  \|) .*{words}", run.errors), run.said()
    return str(code)


def python_exception(cluster, launcher):
    return in_python(cluster, launcher, "raise", 1, "ended with exit code 1", "ValueError: the loss is not a number")


def python_exit(cluster, launcher):
    return in_python(cluster, launcher, "exit", 3, "ended with exit code 3", "leaving early")


def gloo_time_out(cluster, launcher):
    """Rank 1 sleeps, and the others time out. muster names the sleeping rank and quotes the time-out. A pod sees only its own ranks, so
    muster names one that timed out."""
    words = "Timed out waiting 5000ms"
    if not launcher.sees_lost_hosts:
        return in_python(cluster, launcher, "sleep", 1, "ended with exit code 1", words, r"rank (0 on n1|2 on n3)")
    return in_python(cluster, launcher, "sleep", 1, "kept the other ranks waiting until they timed out (first failure: ", words)


def rank_1_on_demand(cluster, launcher, before_it_fails):
    """On command, rank 1 prints a reason and exits with 3."""
    cluster.lab.shell("n2", "rm -f ~/now; mkfifo ~/now")
    run = launcher.start(cluster, ["sh", "-c", "echo up; [ $RANK = 1 ] || exec sleep 1000; read line < ~/now; echo no room >&2; exit 3"])
    run.wait_for("up", 3, within=UP_WITHIN_S)
    before_it_fails()
    cluster.lab.shell("n2", "timeout 60 sh -c 'echo > ~/now'")
    assert run.end(WITHIN_S) == 3, run.said()
    assert "muster: rank 1 on n2 ended with exit code 3" in run.errors, run.said()
    assert re.search(r"(\[n2:1\]|  \|) no room", run.errors), run.said()
    return "3"


def full_tmp(cluster, launcher):
    """/tmp on the rank's host fills up while it runs."""
    try:
        return rank_1_on_demand(cluster, launcher, lambda: cluster.lab.shell("n2", "cat /dev/zero > /tmp/fill 2>/dev/null; df --output=avail /tmp | tail -1 | grep -qx ' *0'"))
    finally:
        cluster.lab.shell("n2", "rm -f /tmp/fill")


def no_inotify(cluster, launcher):
    """On all hosts, the user has no inotify instance left."""
    hold = "import ctypes, sys\nlibc = ctypes.CDLL(None)\nwhile libc.inotify_init() >= 0: pass\nprint('held', flush=True)\nsys.stdin.read()"
    holder = subprocess.Popen(cluster.lab.words("launcher", "sh", "-c", f"ulimit -n 4096; exec python3 -c {shlex.quote(hold)}"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        return rank_1_on_demand(cluster, launcher, lambda: None)
    finally:
        holder.stdin.close()
        holder.wait(timeout=patient(10))


def two_codes(cluster, launcher):
    """Two ranks fail at the same time. muster names the first according to the record, and exits with its code. In CI the ranks have no
    connections: on a machine without spare CPU time, a rank that MPI ends because of a broken connection can be recorded before the rank
    that broke it."""
    native = [*launcher.native(cluster.programs), "fail", "1", "3", "2", "5"]
    alike = ["sh", "-c", "[ $RANK = 0 ] && exec sleep 1000; exit $((2 * RANK + 1))"]
    run = launcher.start(cluster, native if PATIENCE == 1 else alike)
    code = run.end(UP_WITHIN_S)
    told = re.search(r"muster: rank (\d) on n(\d) ended with exit code (\d)", run.errors)
    assert told and told.groups() in (("1", "2", "3"), ("2", "3", "5")) and code == int(told[3]), run.said()
    if not isinstance(launcher, Pods):  # a pod knows only its own ranks
        record = described("record", json.loads(cluster.lab.shell("launcher", f"cat ~/.local/state/muster/runs/{run.id}/record.json")))
        ended = [rank for rank in record["ranks"] if rank.get("status")]
        assert min(ended, key=lambda rank: rank["ended"])["rank"] == int(told[1]), record["ranks"]
    return "3 or 5"


def missing(cluster, launcher):
    """muster rejects a missing program. With --force, the run fails, and muster says on which rank the program was missing."""
    run = launcher.start(cluster, ["/nowhere/train"])
    assert run.end(WITHIN_S) == 127, run.said()
    assert "/nowhere/train" in run.errors and ("n[1-3]" in run.errors or isinstance(launcher, Pods)), run.said()
    forced = launcher.start(cluster, ["/nowhere/train"], "--force")
    assert forced.end(WITHIN_S + launcher.up_within_s) == 127, forced.said()
    assert re.search(r"muster: rank \d on n\d: .*/nowhere/train", forced.errors), forced.said()
    return "127"


def time_limit(cluster, launcher):
    """The run ends at its time limit. Tries again with a longer limit if the ranks did not start in time."""
    for limit in (launcher.up_within_s, 4 * launcher.up_within_s, 16 * launcher.up_within_s):
        run = launcher.start(cluster, STUBBORN, "--timeout", str(limit))
        assert run.end(WITHIN_S + limit) == 124, run.said()
        assert f"the time limit of {limit} s passed" in run.errors, run.said()
        if len([line for line in run.out if "up" in line]) == 3:
            return "124"
    pytest.fail(f"no 3 ranks came up:\n{run.said()}")


def signalled(cluster, launcher, name, code):
    run = launcher.start(cluster, STUBBORN)
    run.wait_for("up", 3, within=UP_WITHIN_S)
    run.signal(name)
    ended = run.end(WITHIN_S)
    assert ended == code or name == "KILL", run.said()  # with SIGKILL, muster does not control what its parent reports
    return str(code)


def interrupt(cluster, launcher):
    return signalled(cluster, launcher, "INT", 130)


def killed_muster(cluster, launcher):
    return signalled(cluster, launcher, "KILL", 137)


class Lost:
    """One run per launcher at the same time, on separate hosts. Then n2 is killed or crashes under all of them at once."""

    def __init__(self, cluster, fault, launchers):
        before = cluster.processes()
        def start(launcher):
            return launcher.start(cluster, [*launcher.native(cluster.programs), "forever"])

        runs = {launcher: start(launcher) for launcher in launchers}
        for launcher, first in runs.items():
            runs[launcher] = brought_up(launcher, lambda launcher=launcher: start(launcher), first)
        cluster.lab.command(fault, "n2")
        self.runs, self.codes, self.left = runs, {}, ""
        for launcher, run in runs.items():
            try:
                self.codes[launcher] = run.end(WITHIN_S)
            except pytest.fail.Exception as failure:  # the failure of one engine must not affect the others
                self.codes[launcher] = str(failure)
        try:
            cluster.settles({one for one in before if one[0] != "n2"}, 5)
        except AssertionError as failure:
            self.left = str(failure)

    def check(self, launcher):
        run, code = self.runs[launcher], self.codes[launcher]
        if not launcher.sees_lost_hosts:
            others = [one for one in run.runs if one is not run.concerned]
            assert [one.process.returncode for one in others] == [143] * len(others), run.said()
            assert not self.left, self.left
            return "143"
        assert code == 125, run.said()
        assert "muster: host n2 was lost with rank 1" in run.errors, run.said()
        assert not self.left, self.left
        return "125"


FAULTS = {"exit": exit_code, "segv": segv, "abort": silent_abort, "message": abort_with_message, "init": init_error, "term": terminated, "raise": python_exception,
          "sys.exit": python_exit, "gloo": gloo_time_out, "two": two_codes, "missing": missing, "full": full_tmp, "inotify": no_inotify, "timeout": time_limit,
          "kill": "kill", "crash": "crash", "int": interrupt, "sigkill": killed_muster}
TITLES = {"exit": "a rank exits 3", "segv": "a rank dies of SIGSEGV", "abort": "MPI_Abort(7)",
          "message": "MPI_Abort(7) after a message", "init": "MPI cannot begin", "term": "SIGTERM to a rank", "raise": "Python exception",
          "sys.exit": "sys.exit(3)", "gloo": "Gloo time-out", "two": "ranks exit 3 and 5", "missing": "program missing",
          "full": "/tmp full", "inotify": "no inotify", "timeout": "--timeout",
          "kill": "host killed", "crash": "host crashed", "int": "Ctrl-C", "sigkill": "SIGKILL of muster"}
PYTHON = ("raise", "sys.exit", "gloo")
ALL_IN_CI = ("openmpi5", "mpich")
ONE_IN_CI = ("openmpi5",)
SOME_IN_CI = (("torchrun", "exit"), ("torchrun", "crash"), ("slurm-pmix", "exit"), ("pods", "exit"))
INTRO = """Exit code of `muster run` and seconds of the whole test, 3 hosts x 1 rank, written by `campaigns/outcomes`. Each cell: right rank and host named, end within 25 s
of the fault, nothing left on any host, another run on the same hosts not hit. Hosts are lost under all engines at once, so those have no seconds; in pods Kubernetes
ends the other pods (SIGTERM, 143)."""


def cells():
    for launcher in LAUNCHERS:
        for fault in FAULTS:
            in_ci = launcher.name in (ONE_IN_CI if fault in PYTHON else ALL_IN_CI) or (launcher.name, fault) in SOME_IN_CI
            # The shims report which rank failed first. A shim without CPU time may report later than a rank that failed as a consequence.
            # Also, hosts are lost under all launchers at once, each with ranks that use CPU time continuously. So these tests run alone.
            marks = [pytest.mark.alone] if fault in ("exit", "segv", "abort", "message", "init", "term", "two", "kill", "crash", *PYTHON) else []
            yield pytest.param(launcher, fault, id=f"{fault}-{launcher}", marks=marks if in_ci else [*marks, pytest.mark.campaign])


def made_cluster(lab_up, make_cluster, programs, folder, launchers):
    """A cluster, with Slurm if needed."""
    lab = lab_up(hosts=3, share=folder)
    cluster = make_cluster(lab, programs)
    if any(isinstance(launcher, Slurm) for launcher in launchers):
        SlurmDaemons(lab, folder)
    return cluster


def chosen(session, faults):
    """Returns the launchers of the selected tests of these faults."""
    params = [item.callspec.params for item in session.items if item.originalname == "test_outcome"]
    return list(dict.fromkeys(one["launcher"] for one in params if one["fault"] in faults))


@pytest.fixture(scope="module")
def module_cluster(request, module_lab_up, make_cluster, programs, tmp_path_factory):
    launchers = chosen(request.session, set(FAULTS) - {"kill", "crash"})
    cluster = made_cluster(module_lab_up, make_cluster, programs, tmp_path_factory.mktemp("slurm"), launchers)
    bystander = Bystander(cluster, LAUNCHERS[0])
    cluster.runs.clear()  # this run belongs to no test
    yield cluster
    bystander.end()


@pytest.fixture(scope="module")
def lost(request, module_lab_up, make_cluster, programs, tmp_path_factory):
    """Returns lost(fault), which makes the Lost of each fault once."""
    known = {}

    def get(fault):
        if fault not in known:
            launchers = chosen(request.session, {fault})
            known[fault] = Lost(made_cluster(module_lab_up, make_cluster, programs, tmp_path_factory.mktemp("slurm"), launchers), fault, launchers)
        return known[fault]

    return get


@pytest.fixture(scope="module")
def table():
    """The result of every cell that passed. Written as a table at the end if MUSTER_WRITE_OUTCOMES=1."""
    passed = {}
    yield passed
    if os.environ.get("MUSTER_WRITE_OUTCOMES") == "1":
        rows = {launcher.name: [passed.get((launcher, fault), "FAILED") for fault in FAULTS] for launcher in LAUNCHERS}
        write_table("outcomes.md", "How runs end", INTRO, TITLES.values(), rows)


@pytest.mark.parametrize("launcher, fault", list(cells()))
def test_outcome(request, table, launcher, fault):
    if fault in ("kill", "crash"):
        table[launcher, fault] = request.getfixturevalue("lost")(fault).check(launcher)
        return
    cluster = request.getfixturevalue("cluster")
    before, started = cluster.processes(), time.monotonic()
    code = FAULTS[fault](cluster, launcher)
    cluster.settles(before, 5)
    table[launcher, fault] = f"{code}, {time.monotonic() - started:.1f} s"


@pytest.mark.campaign
@pytest.mark.parametrize("launcher", LAUNCHERS[:1], ids=str)
def test_a_rank_that_was_cut_off_is_not_the_cause(cluster, launcher):
    """Rank 1 fails, and muster's process that waits for it is stopped for 2 s, as on a machine without spare CPU time. So muster learns of
    rank 1's end long after MPI has ended the other ranks, whose connections to it broke. muster still names rank 1."""
    before = cluster.processes()
    program = shlex.join([*launcher.native(cluster.programs), "fail", "1", "3"])
    stop = "kill -STOP $PPID; { sleep 2; kill -CONT $PPID; } &"
    run = launcher.start(cluster, ["sh", "-c", f"{program}; code=$?; if [ $RANK = 1 ]; then {stop} fi; exit $code"])
    assert run.end(UP_WITHIN_S) == 3, run.said()
    assert "muster: rank 1 on n2 ended with exit code 3;" in run.errors, run.said()
    ranks = described("record", json.loads(cluster.lab.shell("launcher", f"cat ~/.local/state/muster/runs/{run.id}/record.json")))["ranks"]
    cut_off = [rank for rank in ranks if rank["cut_off"]]
    assert cut_off and ranks[1] not in cut_off and cut_off[0]["ended"] < ranks[1]["ended"], ranks
    cluster.settles(before, 5)
