"""The examples in C++ under `muster run` and every kind of engine."""
import math
import re

import pytest
from tests.run.example_hosts import example_hosts, launched, slurm  # noqa: F401  fixtures
from tests.run.launchers import LAUNCHERS
from tests.staging import staged

RANKS, EACH = 6, 2
SOME_IN_CI = pytest.mark.parametrize("launcher", [pytest.param(launcher, id=str(launcher), marks=[] if launcher.name in ("openmpi5", "torchrun")
                                                               else pytest.mark.campaign) for launcher in LAUNCHERS])
ONE_IN_CI = pytest.mark.parametrize("launcher", [pytest.param(launcher, id=str(launcher), marks=[] if launcher.name == "openmpi5" else pytest.mark.campaign)
                                                 for launcher in LAUNCHERS])


@pytest.fixture(scope="module")
def examples(build, muster):
    """Yields a folder with the examples that the hosts of a lab can see if it starts afterwards."""
    with staged(build, muster, *(build / "examples" / name for name in ("message_passing", "pi", "toy_ddp")), folder="examples") as folder:
        yield folder


@pytest.fixture(scope="module")
def hosts(module_lab_up, examples, tmp_path_factory):
    return example_hosts(module_lab_up, RANKS // EACH, examples / "muster", tmp_path_factory.mktemp("slurm"))


def output(hosts, launcher, *words):
    """Returns the ranks' output in order, without labels."""
    run = launcher.start(hosts, [str(word) for word in words], each=EACH)
    assert run.end(100) == 0, run.said()
    run.has_nothing_to_explain()
    return sorted(line.split("] ", 1)[1] for line in run.out if line.startswith("["))


@pytest.mark.lab
@SOME_IN_CI
def test_message_passing(hosts, examples, launched):
    assert output(hosts, launched, examples / "message_passing") == [f"rank {rank} of {RANKS} has 0.5 1 1.5" for rank in range(RANKS)]


@pytest.mark.lab
@ONE_IN_CI
def test_pi(hosts, examples, launched):
    (line,) = output(hosts, launched, examples / "pi", 100_000)
    value = re.fullmatch(rf"pi is about ([\d.]+): {RANKS} ranks, 600000 points", line)
    assert value and abs(float(value[1]) - math.pi) < 0.02, line


@pytest.mark.lab
@ONE_IN_CI
def test_toy_ddp(hosts, examples, launched):
    lines = output(hosts, launched, "sh", "-c", f"cd $(mktemp -d) && exec {examples}/toy_ddp 2 2")
    assert [line.split(":")[0] for line in lines] == ["epoch 1", "epoch 2", *(f"rank {rank} of {RANKS}" for rank in range(RANKS))]
    assert len({line.split()[-1] for line in lines[2:]}) == 1, lines


def test_toy_ddp_goes_on_from_its_snapshot(build, ranks, tmp_path):
    """A job that ends after three of four epochs resumes from its snapshot of epoch 2, and has the same result as an uninterrupted one."""

    def train(folder, epochs):
        (tmp_path / folder).mkdir(exist_ok=True)
        return ranks(["env", "-C", tmp_path / folder, build / "examples/toy_ddp", epochs, 2], 2).good()

    whole = train("whole", 4)
    assert [line.split(":")[0] for line in whole[0].splitlines()] == ["epoch 1", "epoch 2", "epoch 3", "epoch 4", "rank 0 of 2"]
    first_loss, last_loss = (float(whole[0].splitlines()[i].split()[-1]) for i in (0, 3))
    assert last_loss < first_loss / 2
    assert whole[1].split()[-1] == whole[0].split()[-1]
    train("parts", 3)  # the third epoch is lost
    assert train("parts", 4) == ["\n".join(["resuming after epoch 2", *whole[0].splitlines()[2:]]) + "\n", whole[1]]
