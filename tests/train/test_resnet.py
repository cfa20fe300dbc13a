"""The ResNets: they learn, and weights can be exchanged with Python in both directions."""
import subprocess
from pathlib import Path

import pytest
from tests.train import digits as digits_module
from tests.train.conftest import TORCH_PYTHON
from tests.waiting import patient

TWIN = Path(__file__).with_name("resnet_twin.py")

COMPARE = """
import sys
from safetensors.torch import load_file
a, b = (load_file(name)["logits"] for name in sys.argv[1:])
assert a.shape == b.shape == (40, 10), (a.shape, b.shape)
print((a - b).abs().max().item() / b.abs().max().item(), b.std().item())
"""


def python(*words):
    return subprocess.run([TORCH_PYTHON, *map(str, words)], check=True, capture_output=True, text=True, timeout=patient(120)).stdout


@pytest.fixture(scope="module")
def few(digits, tmp_path_factory):
    """Returns a folder in which every CIFAR-10 file has the same forty held-out images."""
    folder = tmp_path_factory.mktemp("few")
    test = (digits / "cifar10/test_batch.bin").read_bytes()[:40 * 3073]
    for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
        (folder / f"{name}.bin").write_bytes(test)
    return folder


@pytest.mark.campaign
@pytest.mark.parametrize("images, accuracy", [(1200, 0.4), (2400, 0.8)])
def test_resnet18_learns_digits(tmp_path, train, images, accuracy):
    """Two epochs of coloured digits, 32x32 pixels large, are enough. An untrained model is right about one time in ten."""
    digits_module.write(tmp_path / "some", train=images)
    untrained, _ = train(2, "resnet18", tmp_path / "some/cifar10", "--epochs", "0", "--stem", "torchvision", to="untrained")
    output, _ = train(2, "resnet18", tmp_path / "some/cifar10", "--epochs", "2", "--batch-size", "48", "--stem", "torchvision", "--warmup-epochs", "0.3",
                      "--no-augment", within=240)
    assert untrained.result["accuracy"] < 0.3 and output.result["accuracy"] > accuracy


def test_resnet50_from_python_and_back(few, train, tmp_path):
    """Weights that Python wrote give Python's logits here. Written again they are the same, and load with torchvision's names."""
    python(TWIN, "weights", "resnet50", 10, tmp_path / "python.safetensors")
    output, _ = train(1, "resnet50", few, "--epochs", "0", "--weights", tmp_path / "python.safetensors", "--logits", tmp_path / "ours.safetensors")
    exported = output.folder / "model.safetensors"
    python("-c", "import sys\nfrom safetensors.torch import load_file\na, b = map(load_file, sys.argv[1:])\n"
           "assert a.keys() == b.keys() and all(a[k].equal(b[k]) and a[k].dtype == b[k].dtype for k in a)", tmp_path / "python.safetensors", exported)
    python(TWIN, "logits", "resnet50", exported, few / "test_batch.bin", tmp_path / "theirs.safetensors")
    off, spread = map(float, python("-c", COMPARE, tmp_path / "ours.safetensors", tmp_path / "theirs.safetensors").split())
    assert off < 1e-5 and spread > 0.01


def test_a_classifier_of_another_size_begins_anew(few, train, tmp_path):
    """From weights with ImageNet's thousand classes, all but the classifier is used. With --freeze backbone, only the new classifier changes."""
    python(TWIN, "weights", "resnet18", 1000, tmp_path / "python.safetensors")
    output, said = train(2, "resnet18", few, "--epochs", "1", "--batch-size", "40", "--weights", tmp_path / "python.safetensors", "--freeze", "backbone")
    assert "classifier (fc) of a different size" in said
    changed = python("-c", "import sys\nfrom safetensors.torch import load_file\na, b = map(load_file, sys.argv[1:])\n"
                     "print(*[k for k in a if a[k].shape != b[k].shape or not a[k].equal(b[k])])", tmp_path / "python.safetensors",
                     output.folder / "model.safetensors")
    assert sorted(changed.split()) == ["fc.bias", "fc.weight"]
