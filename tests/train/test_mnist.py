"""The trainer of MNIST: the same losses as Python bit by bit, interruptions without effect, exact evaluation, and its output files."""
import contextlib
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from comparisons.comparison import free_port
from tests.train.conftest import TORCH_PYTHON, Output
from tests.waiting import until

TWIN = Path(__file__).with_name("mnist_twin.py")
SHORT = ["--epochs", "2", "--batch-size", "32", "--log-every", "1", "--max-steps", "60"]


# Without this, MKL may give different bits for the same numbers at different addresses.
@pytest.fixture(scope="module", autouse=True)
def reproducible_mkl():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MKL_CBWR", "COMPATIBLE")
        yield


def twin(ranks, digits, size, batch):
    said = ranks([TORCH_PYTHON, TWIN, digits / "mnist", 2, batch, 60], size, GLOO_SOCKET_IFNAME="lo").good(within=150)
    return [(int(step), loss) for step, loss in (line.split() for line in said[0].splitlines())]


@pytest.fixture(scope="module")
def python_losses(digits, ranks):
    return twin(ranks, digits, 2, 32)


def same(output, losses):
    different = [(ours, theirs) for ours, theirs in zip(output.losses(), losses, strict=True) if ours != theirs]
    assert different == [], f"{len(different)} of {len(losses)} losses differ; the first: {different[0]}"


def test_losses_are_those_of_python_bit_for_bit(digits, train, python_losses):
    output, _ = train(2, "mnist", digits / "mnist", *SHORT)
    assert len(python_losses) == 60
    same(output, python_losses)


def test_also_where_the_batch_is_not_even(digits, train, ranks):
    """33 samples on two ranks: 17 and 16, weighted so that all count equally."""
    output, _ = train(2, "mnist", digits / "mnist", *SHORT[:3], "33", *SHORT[4:])
    same(output, twin(ranks, digits, 2, 33))


def test_an_interruption_does_not_show(digits, trainer, ranks, train, tmp_path, python_losses):
    """A training killed after step 26 resumes from the checkpoint of step 25 or 50. Its losses are the same, with one line per step."""
    flags = [*SHORT, "--save-every", "25", "--sync-save"]
    job = ranks([trainer, "mnist", "--dataset-dir", digits / "mnist", "--output-dir", tmp_path / "parts", "--threads", "1", "--backend", "gloo", *flags], 2,
                GLOO_SOCKET_IFNAME="lo")
    try:
        assert any("step 26/" in line for line in job.processes[0].stdout), "it ended before step 26"
    finally:
        for process in job.processes:
            process.kill()
        job.end()
    assert Output(tmp_path / "parts").losses()[-1][0] >= 26
    output, said = train(2, "mnist", digits / "mnist", *flags, to="parts")
    resumed = re.search(r"continuing after step (\d+) ", said)
    assert resumed, f"it had ended before it was killed:\n{said}"
    resumed_at = int(resumed[1])
    assert resumed_at in (25, 50) and output.losses() == python_losses
    assert output.result["resumed_at"] == resumed_at and output.result["steps"] == 60


def test_evaluation_is_exact_on_any_number_of_ranks(digits, train):
    """1,000 images are not a multiple of three ranks, and each of them counts once."""
    made, _ = train(1, "mnist", digits / "mnist", "--epochs", "1", "--max-steps", "30", to="made")
    counts = []
    for size in (1, 2, 3):
        output, _ = train(size, "mnist", digits / "mnist", "--epochs", "0", "--weights", made.folder / "model.safetensors", to=f"on{size}")
        counts.append((output.result["correct"], output.result["count"]))
    assert counts == [(made.result["correct"], 1000)] * 3 and made.result["correct"] > 300


def test_parts_of_a_batch_add_up(digits, train):
    """With --accumulate 4, the first loss is that of the whole batch, except for rounding and dropout's random numbers. The model learns."""
    flags = ["--epochs", "1", "--batch-size", "64", "--log-every", "1", "--max-steps", "30"]
    whole, _ = train(2, "mnist", digits / "mnist", *flags, to="whole")
    parts, _ = train(2, "mnist", digits / "mnist", *flags, "--accumulate", "4", to="parts")
    first = [float(output.losses()[0][1]) for output in (whole, parts)]
    assert abs(first[0] - first[1]) < 0.05
    assert float(parts.losses()[-1][1]) < first[1] - 0.5


def test_bf16_learns(digits, train):
    output, _ = train(1, "mnist", digits / "mnist", "--epochs", "1", "--max-steps", "40", "--log-every", "1", "--bf16")
    losses = [float(loss) for _, loss in output.losses()]
    assert losses[-1] < losses[0] - 0.5 and output.result["accuracy"] > 0.6


def test_what_it_leaves_behind(digits, train):
    output, said = train(1, "mnist", digits / "mnist", "--epochs", "2", "--batch-size", "200", "--log-every", "5")
    assert re.search(r"^epoch 1/2  step 5/40  loss \d\.\d{4}  accuracy -  \d+ images/s  data [\d.]+ %  left \d+ ", said, flags=re.M), said
    picture = ET.parse(output.folder / "training.svg").getroot()
    lines = [path.get("d") for path in picture.iter("{http://www.w3.org/2000/svg}path") if path.get("class").startswith("line ")]
    loss, accuracy = [[tuple(map(float, point.split())) for point in line[1:].split("L")] for line in lines if "L" in line]
    assert len(loss) == 8 and len(accuracy) == 2
    assert [x for x, _ in loss] == sorted(x for x, _ in loss) and loss[-1][0] == accuracy[-1][0]
    assert loss[-1][1] > loss[0][1] and accuracy[1][1] < accuracy[0][1], "down is more in a picture"
    assert set(output.result) >= {"accuracy", "steps", "images_per_s", "data_share", "restarts"}
    assert 0 <= output.result["data_share"] < 0.9  # 0.02 on a quiet machine


def test_no_rank_ends_before_rank_0_has_said_why(trainer, ranks, tmp_path):
    """Rank 1 waits until rank 0 has printed the error, because an engine kills all ranks when one of them fails. Here rank 0 writes
    to a full pipe, so its message is late."""
    words, port = [trainer, "mnist", "--dataset-dir", tmp_path, "--output-dir", tmp_path / "output", "--backend", "gloo", "--threads", "1"], free_port()
    first = ranks(words, 2, only=[0], MASTER_PORT=port, GLOO_SOCKET_IFNAME="lo")
    pid = first.processes[0].pid
    writer = os.open(f"/proc/{pid}/fd/2", os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while os.write(writer, b" " * 4096):
            pass
    os.close(writer)
    second = ranks(words, 2, only=[1], MASTER_PORT=port, GLOO_SOCKET_IFNAME="lo")
    until("rank 0 writes to standard error", lambda: Path(f"/proc/{pid}/syscall").read_text().split()[:2] in (["1", "0x2"], ["64", "0x2"]), 60)
    with pytest.raises(subprocess.TimeoutExpired):
        second.processes[0].wait(timeout=2)
    [((_, said), code)] = first.end()
    assert code == 1 and "muster-train: rank 0 on " in said, said.strip()
    assert second.end() == [(("", ""), 1)]


@pytest.mark.parametrize("flag, value, said", [("--batch-size", "16", "different --batch-size: 32, and now 16"), ("--seed", "2", "different --seed: 1, and now 2"),
                                               ("--resume", "never", "there is a checkpoint of step 2 in ")])
def test_another_job_in_the_same_folder_is_refused(flag, value, said, digits, train, trainer, alone, tmp_path):
    flags = ["--epochs", "1", "--batch-size", "32", "--max-steps", "2"]
    train(1, "mnist", digits / "mnist", *flags)
    now = dict(zip(flags[::2], flags[1::2])) | {flag: value}
    done = alone([trainer, "mnist", "--dataset-dir", digits / "mnist", "--output-dir", tmp_path / "output", *(word for pair in now.items() for word in pair)])
    assert done.returncode == 1 and said in done.stderr and "--resume fresh" in done.stderr, done.stderr


def test_a_fresh_start_moves_old_checkpoints_aside(digits, train):
    flags = ["--epochs", "1", "--batch-size", "32", "--max-steps", "2", "--log-every", "1"]
    first, _ = train(1, "mnist", digits / "mnist", *flags)
    losses = first.losses()
    again, said = train(1, "mnist", digits / "mnist", *flags, "--resume", "fresh")
    old = again.folder / "checkpoints/set-aside-1"
    assert str(old) in said and "continuing" not in said, said
    assert [path.name for path in old.iterdir()] == ["step-000000000002"]
    assert again.losses() == losses and again.result["resumed_at"] == 0
    train(1, "mnist", digits / "mnist", *flags, "--resume", "fresh")
    assert (again.folder / "checkpoints/set-aside-2/step-000000000002/manifest.json").exists()
    _, said = train(1, "mnist", digits / "mnist", *flags)
    assert "continuing after step 2 of " in said, said


def test_weights_that_do_not_fit_are_refused_by_name(digits, train, trainer, alone, tmp_path):
    train(1, "mnist", digits / "mnist", "--epochs", "0")
    done = alone([trainer, "resnet18", "--dataset-dir", digits / "cifar10", "--output-dir", tmp_path / "other", "--weights", tmp_path / "output/model.safetensors"])
    assert done.returncode == 1
    assert "the file lacks: bn1.bias" in done.stderr and "the model does not have: conv1.bias" in done.stderr and "of a different shape: conv1.weight [32, 1, 3, 3]" in done.stderr
