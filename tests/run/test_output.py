"""What the ranks say arrives: lines whole and labelled, every byte in the file of its rank, and nothing is left or hangs."""
import hashlib
import re
from collections import Counter

import pytest

pytestmark = pytest.mark.lab

# Lines of many lengths, each with its rank and number, some in two writes.
LINES = """
import os, sys
rank = int(os.environ["RANK"])
for i in range(3000):
    line = "rank %d line %d %s" % (rank, i, "x" * (i * 37 % 300))
    if i % 7 == 0:
        sys.stdout.write(line[:10]); sys.stdout.flush()
        sys.stdout.write(line[10:] + "\\n"); sys.stdout.flush()
    else:
        print(line, flush=i % 50 == 0)
print("rank %d to stderr" % rank, file=sys.stderr)
sys.stdout.write("no newline at the end")
"""
# Megabytes in lines, and the hash of them, on standard error.
FLOOD = """
import hashlib, os, sys
digest = hashlib.sha256()
block = b"".join(b"%06d %s\\n" % (i, b"y" * (i * 31 % 200)) for i in range(10000))
for i in range(1_000_000 * int(sys.argv[1]) // len(block)):
    digest.update(block)
    view = memoryview(block)
    while view: view = view[os.write(1, view):]
print("hash", digest.hexdigest(), file=sys.stderr)
"""
BINARY = "import os; d = bytes(range(256)) * 4000; os.write(2, d[:70000])\nwhile d: d = d[os.write(1, d):]"


def expected_lines(rank):
    return ["rank %d line %d %s" % (rank, i, "x" * (i * 37 % 300)) for i in range(3000)] + ["no newline at the end"]


def rank_hash(cluster, run_id, rank, *flags):
    """Of what `muster logs` gives."""
    return cluster.lab.shell("launcher", f"muster logs {run_id} --rank {rank} {' '.join(flags)} | sha256sum").split()[0]


def test_every_line_is_in_the_file_of_its_rank_and_nothing_is_left(cluster, engine):
    before = cluster.processes()
    run = cluster.run(engine, "--nproc-per-node", "2", "--", "python3", "-c", LINES)
    assert run.code == 0, run.said()
    for rank in range(6):
        assert cluster.muster("logs", run.id, "--rank", str(rank)).stdout == "\n".join(expected_lines(rank))
        assert cluster.muster("logs", run.id, "--rank", str(rank), "--err").stdout == f"rank {rank} to stderr\n"
        assert f"[n{rank // 2 + 1}:{rank}] rank {rank} to stderr" in run.err
    cluster.settles(before, 5)
    assert cluster.run_folders() == {name: [] for name in cluster.lab.hosts}


def test_lines_on_the_screen_are_whole_and_labelled(cluster, engine):
    """Nothing is lost. Open MPI 4 itself tears hundreds of these lines; muster keeps it from that but on a machine that is badly overloaded."""
    run = cluster.run(engine, "--nproc-per-node", "2", "--", "python3", "-c", LINES)
    assert run.code == 0, run.errors
    wanted = Counter(f"[n{rank // 2 + 1}:{rank}] {line}" for rank in range(6) for line in expected_lines(rank))
    shown = Counter(line.replace("\r", "") for line in run.out)
    assert sum(map(len, shown.elements())) == sum(map(len, wanted.elements()))
    torn = wanted - shown
    assert torn.total() <= (0 if engine.name == "openmpi5" else 20), torn.most_common(3)


@pytest.mark.parametrize("name, megabytes", [("openmpi4", 20), ("openmpi5", 100)])  # 5 to 6 MB/s on two cores
def test_a_flood(cluster, engines, name, megabytes):
    before = cluster.processes()
    run = cluster.run(engines[name], "-N", "1", "--", "python3", "-c", FLOOD, str(megabytes), within=100)
    assert run.code == 0, run.errors
    told = re.search(r"hash (\w+)", run.errors)[1]
    assert rank_hash(cluster, run.id, 0) == told
    cluster.settles(before, 5)


def test_bytes_that_are_no_text(cluster, engine):
    run = cluster.run(engine, "--", "python3", "-c", BINARY)
    assert run.code == 0, run.errors
    data = bytes(range(256)) * 4000
    for rank in range(3):
        assert rank_hash(cluster, run.id, rank) == hashlib.sha256(data).hexdigest()
        assert rank_hash(cluster, run.id, rank, "--err") == hashlib.sha256(data[:70000]).hexdigest()


def test_closed_output_and_a_daemon_neither_hang_nor_stay(cluster, engine):
    before = cluster.processes()
    closed = cluster.run(engine, "--", "sh", "-c", "echo first; exec >&- 2>&-; sleep 1; exit 7", within=15)
    assert closed.code == 7 and len([line for line in closed.out if "first" in line]) == 3, closed.said()
    # It keeps the rank's output open, in a session of its own, and its parent is gone.
    daemon = cluster.run(engine, "--", "sh", "-c", "(setsid sleep 1000 &); echo first", within=15)
    assert daemon.code == 0 and len(daemon.out) == 3, daemon.said()
    cluster.settles(before, 5)
