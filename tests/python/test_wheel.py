"""The contents of the wheel, and when its backend is active."""
import os
import subprocess
import tarfile
import tempfile
import zipfile

import pytest
from comparisons.comparison import OWN_NETWORK
from tests.mpi.mpis import DEPS, MPIS, SYSTEM_PATH
from tests.waiting import patient

pytestmark = pytest.mark.lab


def run(python, *words, env=None, within=60):
    """Runs Python on this machine in a network namespace with only loopback, because an MPI may listen. Afterwards, files
    that an MPI leaves behind are removed."""
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: os.environ[name] for name in ("MUSTER_CI_RUN",) if name in os.environ}
        return subprocess.run([*OWN_NETWORK, str(python), *map(str, words)], env={"PATH": SYSTEM_PATH, "HOME": folder, "TMPDIR": folder, **kept, **(env or {})},
                              capture_output=True, text=True, timeout=patient(within), stdin=subprocess.DEVNULL)


def says(python, script, env=None, within=60):
    done = run(python, "-W", "error::UserWarning:muster_torch", "-c", script, env=env, within=within)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


ASKS = "import sys, torch.distributed as d; m = sys.modules.get('muster_torch'); print(d.is_mpi_available(), bool(m and m.is_enabled()))"
FAILS_AS_EVER = "import torch.distributed as d\ntry: d.init_process_group('mpi')\nexcept RuntimeError as e: print(e)"


def test_the_wheel_brings_both_abis_and_no_library_of_others(wheel):
    assert "manylinux" in wheel.name
    with zipfile.ZipFile(wheel) as file:
        libraries = sorted(name.split("/")[-1] for name in file.namelist() if ".so" in name)
        assert [name.split(".")[0] for name in libraries] == ["_backend", "libmuster_mpi_mpich", "libmuster_mpi_openmpi"]
        names = {name.split("/")[-1] for name in file.namelist()}
        assert {"py.typed", "_backend.pyi", "LICENSE", "entry_points.txt"} <= names
        assert not [name for name in names if name.endswith((".cpp", ".hpp"))]


def test_the_sdist_has_what_it_needs_and_nothing_of_the_tool(sdist):
    with tarfile.open(sdist) as file:
        tops = {"/".join(name.split("/")[1:3]) for name in file.getnames()}
    assert {"src/mpi", "python/module.cpp", "include/muster"} <= tops and "src/cli" not in tops and not [top for top in tops if top.startswith("tests")]


def test_a_build_without_pytorch_says_what_to_do(root, tmp_path):
    """Simulates the environment that pip makes for a build: with scikit-build-core, but without PyTorch."""
    (site,) = DEPS.glob("torch/lib/python3*/site-packages")
    for path in site.iterdir():
        if not path.name.startswith("torch"):
            (tmp_path / path.name).symlink_to(path)
    done = subprocess.run([DEPS / "torch/bin/python", "-S", "-c", "import build_backend; build_backend.get_requires_for_build_wheel()"], cwd=root,
                          env={"PATH": SYSTEM_PATH, "PYTHONPATH": f"{tmp_path}:{root}/python", "PYTHONDONTWRITEBYTECODE": "1"},
                          capture_output=True, text=True, timeout=patient(30))
    assert (done.returncode, done.stdout) == (1, "")
    said = done.stderr.strip().splitlines()
    assert said[0] == "`pip install .` builds the Python package muster-torch, not the muster command."
    assert [line.split(":")[0] for line in said[1:]] == ["The command", "muster-torch"]


def test_it_is_on_with_no_import(python):
    assert says(python, ASKS) == "True True"


@pytest.mark.parametrize("switch", [{"MUSTER_TORCH": "0"}, {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}], ids=lambda switch: next(iter(switch)))
def test_it_can_be_turned_off(python, switch):
    assert says(python, ASKS, env=switch) == "False False"
    assert "doesn't have MPI built in" in says(python, FAILS_AS_EVER, env=switch)


def test_a_script_turns_it_on_and_off(python):
    asks = ASKS.split("; ")[-1]
    script = f"import muster_torch as m, torch.distributed as d\n{asks}\nm.enable(); {asks}; m.disable(); {asks}"
    assert says(python, script, env={"MUSTER_TORCH": "0"}).split("\n") == ["False False", "True True", "False False"]


@pytest.mark.parametrize("switch, used", [("1", "PyTorch's"), ("replace", "muster's")])
def test_an_mpi_of_pytorchs_own_is_left_alone_unless_asked(python, switch, used):
    """pip does not offer a PyTorch built with MPI, so this test tells the installed one that it has an MPI."""
    script = ("import os, torch.distributed as d, torch.distributed.distributed_c10d as c, muster_torch as m\n"
              "class Own:\n"
              "  def create(ranks): raise RuntimeError(\"PyTorch's\")\n"
              "def ask():\n"
              "  try: d.init_process_group('mpi'); d.destroy_process_group(); print(\"muster's\")\n"
              "  except RuntimeError as error: print(error)\n"
              "c.ProcessGroupMPI = d.ProcessGroupMPI = Own; c._MPI_AVAILABLE = True\n"
              f"os.environ['MUSTER_TORCH'] = '{switch}'; m._autoload(); ask(); m.disable(); ask()")
    assert says(python, script, env={"MUSTER_TORCH": "0"}).split("\n") == [used, "PyTorch's"]


def test_import_torch_costs_no_more(python):
    """`import torch` loads no MPI, and imports nothing that the script did not request."""
    script = "import torch, sys; print('mpi' in open('/proc/self/maps').read().replace('mpich', ''), 'muster_torch._backend' in sys.modules)"
    assert says(python, script) == "False False"


def test_another_pytorch_is_told(python):
    script = ("import torch, muster_torch._c10d as c; print(torch.__version__); torch.__version__ = '2.99.1'\n"
              "import torch.distributed as d; print(d.is_mpi_available())\n"
              "try: d.init_process_group('mpi')\nexcept ImportError as e: print(e)")
    version, available, told = says(python, script).split("\n", 2)
    assert available == "False" and f"built for PyTorch {version.rpartition('.')[0]}, and this is PyTorch 2.99.1" in told and "--no-build-isolation" in told


def test_no_mpi_says_what_was_looked_for(python):
    env = {"MUSTER_MPI_LIBRARY": "/nowhere/libmpi.so"}
    script = "import torch.distributed as d; print(d.is_mpi_available())\ntry: d.init_process_group('mpi')\nexcept RuntimeError as e: print(e)"
    told = says(python, script, env=env)
    assert told.startswith("False\n") and "/nowhere/libmpi.so (MUSTER_MPI_LIBRARY)" in told


def test_ranks_that_no_mpi_started_are_refused(python):
    """Otherwise each process would be a job with one rank and train alone."""
    done = run(python, "-c", "import torch.distributed as d; d.init_process_group('mpi')", env={"WORLD_SIZE": "4", "RANK": "0"})
    assert done.returncode == 1 and "sees one rank, but WORLD_SIZE says 4" in done.stderr and "mpirun" in done.stderr
    done = run(python, "-c", "import torch.distributed as d; d.init_process_group('mpi')", env={"SLURM_STEP_NUM_TASKS": "3"})
    assert done.returncode == 1 and "SLURM_STEP_NUM_TASKS says 3" in done.stderr and "--mpi=pmix" in done.stderr


def test_one_rank_is_a_job_too(python):
    """This holds even in a Slurm allocation for four tasks, with torchrun's variables for one rank, and with PyTorch's checks of collectives."""
    script = "import torch.distributed as d; d.init_process_group('mpi'); print(d.get_world_size())"
    assert says(python, script, env={"SLURM_NTASKS": "4", "SLURM_JOB_ID": "5", "WORLD_SIZE": "1", "TORCH_DISTRIBUTED_DEBUG": "DETAIL"}) == "1"


def test_it_is_no_choice_where_torchrun_starts_the_ranks(python):
    """Scripts that ask which backends are available choose Gloo there, as they would without the wheel."""
    assert says(python, ASKS, env={"WORLD_SIZE": "4"}) == "False True"


def test_an_mpirun_of_another_mpi_is_refused(host, python):
    """Otherwise each rank would be an Open MPI job of its own. (MPICH notices the mismatch itself.)"""
    mpich = MPIS[2]
    script = "import torch.distributed as d; d.init_process_group('mpi')"
    done = mpich.run(host, 2, [python, "-c", script], env={"MUSTER_MPI_LIBRARY": DEPS / "openmpi/lib/libmpi.so.40"})
    assert done.returncode != 0 and "PMI_SIZE says 2: the launcher belongs to a different MPI" in done.stderr, done.stderr


def test_import_torch_never_fails_because_of_it(python):
    assert says(python, "import warnings; warnings.simplefilter('error'); import torch; print('there')", env={"MUSTER_TORCH": "perhaps"}) == "there"


@pytest.mark.parametrize("mpi", [pytest.param(mpi, marks=[] if mpi.name in ("openmpi5", "mpich") else pytest.mark.campaign) for mpi in MPIS], ids=str)
def test_the_doctor(host, python, mpi):
    done = mpi.run(host, 2, [python, "-m", "muster_torch.doctor"])
    assert done.returncode == 0, done.stdout + done.stderr
    version = {"openmpi5": "Open MPI v5", "openmpi4": "Open MPI v4.1", "mpich": "MPICH Version", "intel": "Intel(R) MPI Library"}[mpi.name]
    why = "in the search path of the dynamic linker" if mpi.name == "openmpi4" else "the launcher's"  # Debian's is not in a lib/ folder of its own prefix
    abi = "Open MPI's" if mpi.name.startswith("openmpi") else "MPICH's"
    for text in (version, f"ABI:          {abi}", f"({why})", "thread level: MPI_THREAD_MULTIPLE", "CUDA-aware:   no", 'works: 2 ranks on n1 (2)'):
        assert text in done.stdout, done.stdout
    assert done.stdout.count("init_process_group") == 1  # only one rank prints


def test_the_doctor_finds_that_it_would_fail(python):
    done = run(python, "-m", "muster_torch.doctor", env={"MUSTER_MPI_LIBRARY": "/nowhere/libmpi.so"})
    assert done.returncode == 1 and "would fail" in done.stdout and "/nowhere/libmpi.so" in done.stdout
    done = run(python, "-m", "muster_torch.doctor", env={"MUSTER_TORCH": "0"})
    assert done.returncode == 1 and "off because of MUSTER_TORCH=0" in done.stdout


def test_the_mpi_of_the_environment_is_found(python):
    """PyPI's MPIs put their library into lib/ of the environment. It is preferred to the Open MPI that the dynamic linker
    finds."""
    script = f"import sys, torch; sys.prefix = '{DEPS}/mpich'; import muster_torch._c10d as c; print(c.find()['library'], c.find()['abi'])"
    assert says(python, script) == f"{DEPS}/mpich/lib/libmpi.so.12 mpich"


def test_types(python, venv):
    """The stubs list exactly the names that exist."""
    names = says(python, "import torch; from muster_torch import _backend, _built_for; print(*(n for m in (_backend, _built_for) for n in dir(m) if n[0] != '_'))")
    folder = next(venv.glob("lib/python3*/site-packages/muster_torch"))
    stubs = (folder / "_backend.pyi").read_text() + (folder / "_built_for.pyi").read_text()
    assert all(f"def {name}(" in stubs or f"\n{name}:" in "\n" + stubs for name in names.split())
    assert os.path.exists(folder / "py.typed")
