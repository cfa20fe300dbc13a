"""Ranks whose collectives `muster why` can ask for. usage: records.py late FOLDER | records.py once FOLDER."""
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from muster_torch import _c10d


def servers():
    names = [Path(f"/proc/self/task/{task}/comm").read_text().strip() for task in os.listdir("/proc/self/task")]
    return names.count("pt_workerserver")


def late():
    """Rank 1 is late for the third all_reduce over Gloo, and for the second over MPI."""
    rank, size = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29517", rank=rank, world_size=size)
    mpi = dist.new_group(backend="mpi", group_desc="fast")
    workers = torch.utils.data.DataLoader(range(8), num_workers=2, multiprocessing_context="fork")
    assert [int(one) for one in workers] == list(range(8))
    for _ in range(2):
        dist.all_reduce(torch.ones(3))
    dist.broadcast(torch.ones(2, 3), 0, group=mpi)
    works = []
    if rank == 0:
        works = [dist.all_reduce(torch.ones(4), async_op=True), dist.all_reduce(torch.ones(5), group=mpi, async_op=True)]
    print("ready", flush=True)
    while not (FOLDER / "go").exists():
        time.sleep(0.01)
    if rank == 1:
        works = [dist.all_reduce(torch.ones(4), async_op=True), dist.all_reduce(torch.ones(5), group=mpi, async_op=True)]
    for work in works:
        work.wait()
    print("good", flush=True)


def once():
    """Checks that a process has one server if there is a private folder, and none without such a folder or in a child process."""
    assert servers() == 0, "there was no MUSTER_RECORDERS"
    wide, private = FOLDER / "wide", FOLDER / ("private" + "e" * 120)
    for folder, mode in ((wide, 0o750), (private, 0o700)):
        folder.mkdir()
        folder.chmod(mode)
    for refused in ("", "private", wide, FOLDER / "nothing"):
        os.environ["MUSTER_RECORDERS"] = str(refused)
        _c10d.serve_records()
        assert servers() == 0, refused
    os.environ["MUSTER_RECORDERS"] = str(private)
    for _ in range(2):
        _c10d.serve_records()
        assert [file.name for file in private.iterdir()] == [str(os.getpid())] and not list(wide.iterdir())
    child = os.fork()
    if child == 0:
        _c10d.serve_records()
        sys.exit(7 if servers() == 0 else 8)  # a normal exit of Python, with everything that it does at its end
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert [file.name for file in private.iterdir()] == [str(os.getpid())]
    print("good", flush=True)
    raise SystemExit(3)


FOLDER = Path(sys.argv[2])
globals()[sys.argv[1]]()
