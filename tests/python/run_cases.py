"""Runs all cases over Gloo, then all over MPI. Started as every rank. usage: run_cases.py FOLDER [PATTERN]

Writes FOLDER/RANK.pt: {backend: {case: ("returned", value) or ("raised", "Type: message")}}
"""
import os
import re
import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.nn  # before init_process_group, as in examples/python/resnet.py

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cases import load  # noqa: E402

# Long enough for a busy machine, and short enough that a test of all cases ends.
TIMEOUT = timedelta(seconds=60)


def outcome(function):
    try:
        torch.manual_seed(1)
        return "returned", function(dist.get_rank(), dist.get_world_size())
    except Exception as error:  # noqa: BLE001: the exception is the result
        dist.distributed_c10d._world.pg_coalesce_state.clear()  # PyTorch does not reset this if a backend cannot coalesce
        return "raised", f"{type(error).__name__}: {error}"


def main():
    folder, pattern = Path(sys.argv[1]), re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    torch.set_num_threads(1)
    rank = next(os.environ[name] for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK") if name in os.environ)
    size = next(os.environ[name] for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE") if name in os.environ)
    results = {}
    for backend in ("gloo", "mpi"):
        if backend == "gloo":
            dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29511", rank=int(rank), world_size=int(size), timeout=TIMEOUT)
        else:
            dist.init_process_group("mpi", timeout=TIMEOUT)
        results[backend] = {}
        for name, function in load().items():
            if pattern.search(name):
                (folder / f"{rank}.now").write_text(f"{name} over {backend}")
                results[backend][name] = outcome(function)
        dist.destroy_process_group()
    torch.save(results, folder / f"{rank}.pt")


main()
