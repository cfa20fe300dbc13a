"""Shared by the tests of the trainers: digits to learn, the trainer, and its output."""
import json
import os
from pathlib import Path

import pytest
from tests.conftest import made_once
from tests.schemas import described
from tests.torch.conftest import alone, build, ranks  # noqa: F401  fixtures
from tests.train import digits as digits_module

DEPS = Path(os.environ.get("MUSTER_DEPS", "/opt/muster-deps"))
TORCH_PYTHON = DEPS / "torch/bin/python"


@pytest.fixture(scope="session")
def digits(shared_folder):
    """Makes the folders mnist and cifar10, with 4,000 training images and 1,000 held-out ones, visible to
    lab hosts."""
    return made_once(shared_folder / "digits", digits_module.write)


@pytest.fixture(scope="session")
def trainer(build):
    program = build / "bin/muster-train"
    assert program.exists(), f"no {program}; build it: cmake --build {build} --target muster-train"
    return program


class Output:
    """The output folder of a job."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def lines(self):
        return [described("train-metrics", json.loads(line)) for line in (self.folder / "metrics.jsonl").read_text().splitlines()]

    def losses(self):
        """Returns (step, loss) of the lines with a loss, as text with nine digits, which distinguish any two floats."""
        return [(line["step"], f"{line['loss']:.9g}") for line in self.lines() if "loss" in line]

    @property
    def result(self):
        return described("train-result", json.loads((self.folder / "result.json").read_text()))


@pytest.fixture
def train(trainer, ranks, tmp_path):
    """Yields train(size, model, data, flags..., to=NAME), which returns (Output, rank 0's output)."""

    def run(size, model, data, *flags, to="output", within=120):
        words = [trainer, model, "--dataset-dir", data, "--output-dir", tmp_path / to, "--threads", "1", "--backend", "gloo", *flags]
        said = ranks(words, size, GLOO_SOCKET_IFNAME="lo").good(within)
        return Output(tmp_path / to), said[0]

    return run
