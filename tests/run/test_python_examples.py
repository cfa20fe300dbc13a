"""The examples in Python under every engine, on hosts with different interface names.

With MUSTER_WRITE_EXAMPLES=1, the table of what passed is written to docs/results/examples.md.
"""
import hashlib
import math
import os
import pickle
import re
import shutil
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.conftest import made_once
from tests.run.example_hosts import example_hosts, launched, slurm  # noqa: F401  fixtures
from tests.run.launchers import DEPS, LAUNCHERS, SYSTEM_PATH
from tests.run.result_table import write_table
from tests.train.conftest import digits  # noqa: F401  a fixture
from tests.waiting import patient

EXAMPLES = ("message_passing", "pi", "mnist_ddp", "resnet")
RANKS, EACH = 2, 1
EPOCHS = 2
(MPICH,) = [launcher for launcher in LAUNCHERS if launcher.name == "mpich"]  # starts faster than the others
ENGINES = pytest.mark.parametrize("launcher", [pytest.param(launcher, id=str(launcher), marks=[] if launcher is MPICH else pytest.mark.campaign)
                                               for launcher in LAUNCHERS])
PROGRAMS = [Path(__file__).parent / "programs" / name for name in ("die_in_second_save.py", "no_thread_left.py")]
RESUMED = "mnist_ddp.py, killed and resumed"
INTRO = f"""Seconds of `muster run` with the scripts in [examples/python](../../examples), {RANKS // EACH} hosts, {RANKS} ranks, on the CPU. Written by
`MUSTER_WRITE_EXAMPLES=1 pytest -m "campaign or not campaign" tests/run/test_python_examples.py`.

A cell passed when every rank printed what it must. `mnist_ddp.py` trained on 4,000 real digits of MNIST for {EPOCHS} epochs, `resnet.py` for 3 steps on made-up images.
In the last column rank 0 was killed with SIGKILL while it saved its second checkpoint, and `--max-restarts 1` started the job again. It printed the same last loss and
wrote the same checkpoint, bit for bit, as the job that was not killed. The hosts have different interface names, a docker0 with the same address, and names that
resolve to 127.0.1.1. The launcher has no PyTorch."""


@pytest.fixture(scope="module")
def scripts(root, muster, shared_folder):
    """The examples in a folder that every host of a later lab sees."""

    def copy(folder):
        for file in [*(root / "examples/python").glob("*.py"), *PROGRAMS, muster]:
            shutil.copy(file, folder)

    return made_once(shared_folder / "python_examples", copy)


@pytest.fixture(scope="module")
def hosts(module_lab_up, scripts, digits, tmp_path_factory):  # noqa: F811
    return example_hosts(module_lab_up, RANKS // EACH, scripts / "muster", tmp_path_factory.mktemp("slurm"))


@pytest.fixture(scope="module")
def passed():
    """The seconds of every cell that passed."""
    seconds = {}
    yield seconds
    if os.environ.get("MUSTER_WRITE_EXAMPLES") == "1":
        columns = [*(f"{example}.py" for example in EXAMPLES), RESUMED]
        rows = {str(launcher): [f"{seconds[launcher, column]:.1f}" if (launcher, column) in seconds else "FAILED" for column in columns] for launcher in LAUNCHERS}
        write_table("examples.md", "The examples in Python under every engine", INTRO, columns, rows)


@pytest.fixture(scope="module")
def output(hosts, scripts):
    """Returns output(launcher, script, argument..., flags=[...]), which runs the script and returns the ranks' output without labels, and
    the seconds that the run took."""

    def run(launcher, script, *arguments, flags=()):
        activate, python = launcher.program(SimpleNamespace(ddp=str(scripts / script)), "ddp")
        started = time.monotonic()
        job = launcher.start(hosts, [*python, *map(str, arguments)], *activate, "--threads", "1", *flags, each=EACH)
        assert job.end(100) == 0, job.said()
        if str(launcher) != "pods" or "--max-restarts" not in flags:  # torchrun restarts pods within one run, whose output shows the failure
            job.has_nothing_to_explain()
        return [line.split("] ", 1)[1] for line in job.out if line.startswith("[")], time.monotonic() - started

    return run


@pytest.fixture(scope="module")
def uninterrupted(hosts, output, scripts, digits):  # noqa: F811
    """Returns uninterrupted(launcher), which returns (lines, seconds, hash of the checkpoint) of an undisturbed training. It trains once
    per launcher."""
    done = {}

    def train(launcher):
        if launcher not in done:
            checkpoint = f"/tmp/{launcher}.pt"
            lines, seconds = output(launcher, "no_thread_left.py", scripts / "mnist_ddp.py", *mnist_arguments(digits, checkpoint))
            done[launcher] = lines, seconds, hash_on_rank_0(hosts, checkpoint)
        return done[launcher]

    return train


def mnist_arguments(digits, checkpoint):  # noqa: F811
    return ["--data", digits / "mnist", "--epochs", EPOCHS, "--checkpoint", checkpoint]


def hash_on_rank_0(hosts, path):
    return hosts.lab.shell("n1", f"sha256sum < {path}")


@pytest.mark.lab
@ENGINES
def test_message_passing(output, passed, launched):
    lines, seconds = output(launched, "message_passing.py")
    assert sorted(lines) == [f"rank {rank} of {RANKS} has 0.5 1 1.5" for rank in range(RANKS)]
    passed[launched, "message_passing.py"] = seconds


# By engine: the launcher whose variables a rank has in addition to those that muster sets.
NUMBERED_BY = {"openmpi": "Open MPI", "mpich": "MPICH or Intel MPI", "intel": "MPICH or Intel MPI"}


@pytest.mark.lab
@ENGINES
def test_a_script_that_asks_its_launcher(output, launched):
    lines, _ = output(launched, "any_launcher.py", "--backend=gloo")
    by = NUMBERED_BY.get(launched.engine, "torchrun")
    assert sorted(lines) == [f"rank 0 of {RANKS} sent 42 to the others; numbered by {by}",
                             *(f"rank {rank} of {RANKS} received 42 from rank 0; numbered by {by}" for rank in range(1, RANKS))]


BARE = {
    "torchrun": ([f"{DEPS}/torch/bin/torchrun", "--nproc_per_node=2"], [], "torchrun"),
    "torch.distributed.launch": ([f"{DEPS}/torch/bin/python", "-m", "torch.distributed.launch", "--nproc_per_node=2"], [], "torchrun"),
    "Open MPI 5": ([f"{DEPS}/openmpi/bin/mpirun", "-np", "2", "--oversubscribe"], [f"{DEPS}/torch/bin/python"], "Open MPI"),
    "MPICH": ([f"{DEPS}/mpich/bin/mpirun", "-n", "2"], [f"{DEPS}/torch/bin/python"], "MPICH or Intel MPI"),
    "Intel MPI": ([f"{DEPS}/impi/bin/mpirun", "-n", "2"], [f"{DEPS}/torch/bin/python"], "MPICH or Intel MPI"),
    "srun": (["srun", "-N1", "-n2", "--immediate=180"], [f"{DEPS}/torch/bin/python"], "Slurm"),
}


@pytest.mark.campaign
@pytest.mark.lab
@pytest.mark.parametrize("launcher", BARE)
def test_the_same_script_without_muster(request, hosts, scripts, launcher):
    launch, python, by = BARE[launcher]
    if launcher == "srun":
        request.getfixturevalue("slurm")
    where = "launcher" if launcher == "srun" else "n1"
    path = ":".join([str(Path(one).parent) for one in launch if one.startswith("/")] + [SYSTEM_PATH])
    done = hosts.lab.exec(where, "env", f"PATH={path}", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29555", "GLOO_SOCKET_IFNAME=lo", *launch, *python, scripts / "any_launcher.py", "--backend=gloo",
                          timeout=100)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank 0 of 2 sent 42 to the others; numbered by {by}", f"rank 1 of 2 received 42 from rank 0; numbered by {by}"], done.stdout


@pytest.mark.lab
@ENGINES
def test_pi(output, passed, launched):
    (line,), seconds = output(launched, "pi.py", 100_000)
    value = re.fullmatch(rf"pi is about ([\d.]+): {RANKS} ranks, {RANKS * 100_000} points", line)
    assert value and abs(float(value[1]) - math.pi) < 0.02, line
    passed[launched, "pi.py"] = seconds


@pytest.mark.lab
@ENGINES
def test_resnet(output, passed, launched, scripts):
    lines, seconds = output(launched, "no_thread_left.py", scripts / "resnet.py", "--steps", 3, "--batch-size", 8)
    assert [re.sub(r"[\d.]+( images/s|%)|loss [\d.]+", "N", line) for line in lines] == [
        "2000 made-up images (for CIFAR-10: --data DIR)", "step 3 of 3: N on rank 0, N on all ranks", "accuracy N on 200 test images"]
    passed[launched, "resnet.py"] = seconds


@pytest.mark.lab
@ENGINES
def test_mnist(uninterrupted, passed, launched):
    lines, seconds, _ = uninterrupted(launched)
    assert [re.sub("(images from|loss) .*", r"\1", line) for line in lines] == ["4000 images from", *(f"epoch {i + 1} of {EPOCHS}: loss" for i in range(EPOCHS))]
    first, last = (float(re.search(r"loss ([\d.]+)", lines[i])[1]) for i in (1, -1))
    assert last < first / 2, lines
    passed[launched, "mnist_ddp.py"] = seconds


@pytest.mark.lab
@ENGINES
def test_mnist_resumes_where_it_was_killed(hosts, output, uninterrupted, passed, launched, scripts, digits):  # noqa: F811
    """Rank 0 dies while it saves the second epoch. The restarted job repeats that epoch, and its results equal those of an undisturbed
    job."""
    checkpoint = f"/tmp/{launched}-killed.pt"
    lines, seconds = output(launched, "die_in_second_save.py", scripts / "mnist_ddp.py", *mnist_arguments(digits, checkpoint), flags=["--max-restarts", "1"])
    begin, *epochs = uninterrupted(launched)[0]
    assert lines == [begin, *epochs[:2], begin, f"resuming after epoch 1 of {EPOCHS}", *epochs[1:]]
    assert hash_on_rank_0(hosts, checkpoint) == uninterrupted(launched)[2]
    passed[launched, RESUMED] = seconds


def alone(script, *arguments):
    """Returns (exit code, standard error) of an example that no launcher started."""
    environment = {name: value for name, value in os.environ.items() if name != "RANK"}
    ended = subprocess.run([DEPS / "torch/bin/python", Path("examples/python") / script, *arguments], cwd=Path(__file__).parents[2], env=environment,
                           capture_output=True, text=True, timeout=patient(30))
    return ended.returncode, ended.stderr


def test_what_is_wrong_is_said_in_one_line(tmp_path):
    (tmp_path / "train-images-idx3-ubyte").write_bytes(bytes.fromhex("00000803 00000002 0000001c 0000001c") + bytes(1000))
    assert alone("mnist_ddp.py", "--data", tmp_path) == (
        1, f"mnist_ddp.py: cannot read the data: {tmp_path}/train-images-idx3-ubyte is damaged or not an unpacked IDX file\n")


@pytest.mark.campaign
@pytest.mark.parametrize("script", [f"{example}.py" for example in EXAMPLES])
def test_a_launcher_is_asked_for(script):
    assert alone(script) == (1, f"{script}: RANK is not set; use a launcher: muster run -n 2 {script}\n")


class Called:
    """Unpickling this object runs a program."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.campaign
def test_weights_are_converted_only_with_the_hash_of_their_name(tmp_path):
    hostile = pickle.dumps(Called(tmp_path / "called"), protocol=2)
    good_name = tmp_path / f"weights-{hashlib.sha256(hostile).hexdigest()[:8]}.pth"
    for path in (good_name, tmp_path / "weights-01234567.pth", tmp_path / "weights.pth"):
        path.write_bytes(hostile)
    target = tmp_path / "weights.safetensors"
    assert alone("to_safetensors.py", good_name, target) == (1, f"to_safetensors.py: {good_name} holds more than weights; torch.load refuses it\n")
    code, said = alone("to_safetensors.py", tmp_path / "weights-01234567.pth", target)
    assert code == 1 and "does not begin with 01234567; download it again" in said, said
    code, said = alone("to_safetensors.py", tmp_path / "weights.pth", target)
    assert code == 1 and "has no hash in its name" in said, said
    assert not target.exists() and not (tmp_path / "called").exists()


@pytest.mark.campaign
@pytest.mark.parametrize("script, file", [("mnist_ddp.py", "train-images-idx3-ubyte"), ("resnet.py", "data_batch_1.bin")])
def test_missing_data_is_named(tmp_path, script, file):
    assert alone(script, "--data", tmp_path) == (1, f"{script}: cannot read the data: [Errno 2] No such file or directory: '{tmp_path}/{file}'\n")


@pytest.mark.campaign
@pytest.mark.lab
def test_a_damaged_checkpoint_is_named(hosts, scripts):
    hosts.lab.write("n1", "/tmp/damaged.pt", "no checkpoint")
    activate, python = MPICH.program(SimpleNamespace(ddp=str(scripts / "mnist_ddp.py")), "ddp")
    job = MPICH.start(hosts, [*python, "--checkpoint", "/tmp/damaged.pt"], *activate, "--threads", "1")
    assert job.end(60) == 1
    assert "mnist_ddp.py: cannot read the checkpoint /tmp/damaged.pt (delete it to start over): " in job.said(), job.said()
    assert "muster: rank 0 on n1 ended with exit code 1" in job.errors, job.said()


@pytest.mark.campaign
@pytest.mark.lab
def test_data_in_the_form_of_cifar10(output, digits):  # noqa: F811
    lines, _ = output(MPICH, "resnet.py", "--steps", 1, "--data", digits / "cifar10")
    assert lines[0] == f"4000 images from {digits}/cifar10" and lines[-1].endswith("on 1000 test images"), lines
