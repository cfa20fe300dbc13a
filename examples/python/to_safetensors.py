"""Converts weights that torch.save wrote, such as torchvision's, to safetensors. It runs no code that the file may contain.

    python to_safetensors.py resnet50-0676ba61.pth resnet50.safetensors

torchvision's file names end with the first eight digits of the file's SHA-256. The script compares
these digits with the SHA-256 that it computes, and stops if they differ.
"""
import hashlib
import pickle
import re
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file


def stop(reason):
    sys.exit(f"to_safetensors.py: {reason}")


def check_hash(path):
    expected = re.search(r"-([0-9a-f]{8,64})\.\w+$", path.name)
    if not expected:
        stop(f"{path} has no hash in its name, as in resnet50-0676ba61.pth; rename it so that it ends with its hash: sha256sum {path}")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if not found.startswith(expected[1]):
        stop(f"{path} has the SHA-256 {found}, which does not begin with {expected[1]}; download it again")


def main():
    if len(sys.argv) != 3:
        stop("usage: to_safetensors.py NAME-HASH.pth OUTPUT.safetensors")
    source, target = map(Path, sys.argv[1:])
    try:
        check_hash(source)
        weights = torch.load(source, map_location="cpu", weights_only=True)  # refuses everything but tensors and plain values
    except OSError as error:
        stop(f"cannot read the weights: {error}")
    except pickle.UnpicklingError:
        stop(f"{source} holds more than weights; torch.load refuses it")
    save_file({name: tensor.contiguous() for name, tensor in weights.items()}, target, {"format": "pt"})
    print(f"{target}: {len(weights)} tensors")


if __name__ == "__main__":
    main()
