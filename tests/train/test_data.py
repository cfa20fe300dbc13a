"""Files of data sets: damaged ones are rejected by name, and copies that differ are found."""
import json
import shutil
import struct
import subprocess

import pytest
from tests.train.conftest import TORCH_PYTHON
from tests.train.digits import pickled
from tests.waiting import patient

IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"


@pytest.fixture
def small(digits, tmp_path):
    """Copies the data sets, so that a test may damage them."""
    return shutil.copytree(digits, tmp_path / "data")


def edit(path, at, new):
    content = bytearray(path.read_bytes())
    content[at:at + len(new)] = new
    path.write_bytes(bytes(content))


def cut(path, by):
    path.write_bytes(path.read_bytes()[:-by])


# Name: the file, what is done to it, and what the error must say besides the file's name.
BROKEN = {
    "truncated images": (f"mnist/{IMAGES}", lambda file: cut(file, 1), ["offset 4", "4000 items", "copy it again"]),
    "truncated header": (f"mnist/{IMAGES}", lambda file: file.write_bytes(b"\0\0\x08"), ["within its header"]),
    "wrong magic": (f"mnist/{IMAGES}", lambda file: edit(file, 0, struct.pack(">I", 0x801)), ["offset 0", "2049, not 2051"]),
    "gzip": (f"mnist/{IMAGES}", lambda file: edit(file, 0, b"\x1f\x8b"), ["gunzip it"]),
    "only gzip": (f"mnist/{IMAGES}", lambda file: file.rename(f"{file}.gz"), ["unpack it with gunzip"]),
    "another size": (f"mnist/{IMAGES}", lambda file: edit(file, 12, struct.pack(">I", 29)), ["offset 12", "29, not 28"]),
    "count too large": (f"mnist/{IMAGES}", lambda file: edit(file, 4, struct.pack(">I", 0xffffffff)), ["offset 4", "4294967295 items"]),
    "label 11": (f"mnist/{LABELS}", lambda file: edit(file, 8 + 17, b"\x0b"), ["offset 25", "label is 11", "0 to 9"]),
    "fewer labels": (f"mnist/{LABELS}", lambda file: (cut(file, 1), edit(file, 4, struct.pack(">I", 3999))), ["do not belong together"]),
    "missing": (f"mnist/{LABELS}", lambda file: file.unlink(), ["No such file", "--dataset-dir"]),
    "cut record": ("cifar10/data_batch_3.bin", lambda file: cut(file, 1), ["multiple of the record size 3073", "copy it again"]),
    "empty batch": ("cifar10/data_batch_3.bin", lambda file: file.write_bytes(b""), ["0 bytes"]),
    "record label 10": ("cifar10/test_batch.bin", lambda file: edit(file, 3073, b"\x0a"), ["offset 3073", "label is 10"]),
    "missing batch": ("cifar10/data_batch_5.bin", lambda file: file.unlink(), ["No such file"]),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_files_are_refused_by_name(what, small, trainer, alone, tmp_path):
    name, damage, expected = BROKEN[what]
    damage(small / name)
    model = "mnist" if name.startswith("mnist") else "resnet18"
    done = alone([trainer, model, "--dataset-dir", small / model.replace("resnet18", "cifar10"), "--output-dir", tmp_path / "out"])
    assert done.returncode == 1 and not (tmp_path / "out/metrics.jsonl").exists()
    assert all(words in done.stderr for words in [name.split("/")[1], *expected]), done.stderr


COMPARE_WITH_PICKLE = """
import pickle, sys
batch = pickle.load(open(sys.argv[1], "rb"), encoding="bytes")
records = open(sys.argv[2], "rb").read()
assert batch[b"data"].shape == (len(records) // 3073, 3072) and str(batch[b"data"].dtype) == "uint8"
assert b"".join(bytes([label]) + row.tobytes() for label, row in zip(batch[b"labels"], batch[b"data"])) == records
"""


@pytest.fixture
def both_versions(digits, tmp_path):
    """Returns two folders with the same images, in CIFAR-10's binary and Python versions. Each is in the directory that its archive has."""
    folders = [tmp_path / "binary/cifar-10-batches-bin", tmp_path / "python/cifar-10-batches-py"]
    for folder in folders:
        folder.mkdir(parents=True)
    for name in [f"data_batch_{number}" for number in range(1, 6)] + ["test_batch"]:
        records = (digits / f"cifar10/{name}.bin").read_bytes()[:8 * 3073]
        (folders[0] / f"{name}.bin").write_bytes(records)
        (folders[1] / name).write_bytes(pickled(records, name.encode()))
    return [folder.parent for folder in folders]


def test_both_versions_of_cifar10_are_the_same_images(both_versions, train):
    binary, python = both_versions
    # Python's own pickle confirms that the batches are as intended.
    subprocess.run([TORCH_PYTHON, "-c", COMPARE_WITH_PICKLE, python / "cifar-10-batches-py/data_batch_2", binary / "cifar-10-batches-bin/data_batch_2.bin"],
                   check=True, timeout=patient(60))
    flags = ["--epochs", "1", "--batch-size", "20", "--log-every", "1", "--stem", "torchvision"]
    first, _ = train(1, "resnet18", binary, *flags, to="binary")
    second, _ = train(1, "resnet18", python, *flags, to="python")
    assert len(first.losses()) == 2 and first.losses() == second.losses()
    assert set(second.lines()[0]["files"]) == {"test_batch", *(f"data_batch_{number}" for number in range(1, 6))}


def test_a_pickle_is_never_run(both_versions, trainer, alone, tmp_path):
    _, python = both_versions
    (python / "cifar-10-batches-py/data_batch_3").write_bytes(b"cos\nsystem\n(S'touch %s/called'\ntR." % str(tmp_path).encode())
    done = alone([trainer, "resnet18", "--dataset-dir", python, "--output-dir", tmp_path / "out"])
    assert done.returncode == 1 and "data_batch_3: offset 0: " in done.stderr and "runs no pickle" in done.stderr, done.stderr
    assert not (tmp_path / "called").exists()


def test_an_archive_that_is_not_unpacked_is_named(trainer, alone, tmp_path):
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(b"\x1f\x8b")
    done = alone([trainer, "resnet18", "--dataset-dir", tmp_path, "--output-dir", tmp_path / "out"])
    assert done.returncode == 1 and f"tar -xzf {tmp_path}/cifar-10-python.tar.gz -C {tmp_path}" in done.stderr, done.stderr


def test_checksums_are_verified_where_there_are_any(small, train, trainer, alone, tmp_path):
    output, _ = train(1, "mnist", small / "mnist", "--epochs", "0")
    files = output.lines()[0]["files"]
    assert sorted(files) == sorted(["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", IMAGES, LABELS])
    (small / "mnist/checksums.json").write_text(json.dumps(files))
    train(1, "mnist", small / "mnist", "--epochs", "0", to="good")
    edit(small / f"mnist/{IMAGES}", 5000, b"\x01\x02")
    done = alone([trainer, "mnist", "--dataset-dir", small / "mnist", "--output-dir", tmp_path / "bad"])
    assert done.returncode == 1 and IMAGES in done.stderr and "checksums.json" in done.stderr


def test_a_rank_with_another_copy_is_named(small, digits, trainer, ranks, tmp_path):
    edit(small / f"mnist/{LABELS}", 8, bytes([7]) if (small / f"mnist/{LABELS}").read_bytes()[8] != 7 else bytes([6]))
    script = f'[ $RANK = 2 ] && data={small}/mnist || data={digits}/mnist; exec {trainer} mnist --dataset-dir $data --output-dir {tmp_path}/out --backend gloo'
    ends = ranks(["sh", "-c", script], 3, GLOO_SOCKET_IFNAME="lo").end()
    assert [code for _, code in ends] == [1, 1, 1]
    said = "".join(err for (_, err), _ in ends)
    assert said.count(f"has a different {LABELS}") == 1 and f"rank 2 on " in said and IMAGES not in said, said


def test_a_rank_that_cannot_read_is_named(digits, trainer, ranks, tmp_path):
    """All ranks end at once, and none waits for the one that failed."""
    script = f'[ $RANK = 1 ] && data=/nowhere || data={digits}/mnist; exec {trainer} mnist --dataset-dir $data --output-dir {tmp_path}/out --backend gloo'
    ends = ranks(["sh", "-c", script], 2, GLOO_SOCKET_IFNAME="lo").end(within=30)
    assert [code for _, code in ends] == [1, 1]
    assert "rank 1 on " in ends[0][0][1] and "/nowhere" in ends[0][0][1], ends
