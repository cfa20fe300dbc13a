"""python -m muster_torch.doctor: Print which MPI muster_torch uses, its ABI, and what init_process_group("mpi") would do.

Runs alone, or under mpirun or srun, where rank 0 prints for all ranks. The exit code is 0 if init_process_group("mpi") would work.
Otherwise it is 1, and the last lines say why.
"""
import argparse
import os
import socket
import sys

import torch
import torch.distributed as dist

import muster_torch

from . import _built_for, _c10d

_ABIS = {"openmpi": "Open MPI's", "mpich": "MPICH's (MPICH, Intel MPI)"}
_LAUNCHERS = {"OMPI_COMM_WORLD_SIZE": "Open MPI's mpirun", "PMI_SIZE": "a PMI launcher (MPICH's or Intel MPI's mpirun, srun --mpi=pmi2)",
              "SLURM_NTASKS": "Slurm", "WORLD_SIZE": "WORLD_SIZE, as torchrun sets it"}


def _line(name: str, value: object) -> None:
    print(f"  {name + ':':<14}{value}", flush=True)


def _launcher() -> str:
    for name, called in _LAUNCHERS.items():
        if name in os.environ:
            return f"{called}: {name}={os.environ[name]}"
    return "none: init_process_group(\"mpi\") would create a job of one rank"


def _switch() -> str:
    if muster_torch.is_enabled():
        return "on: the backend \"mpi\" comes from muster"
    if os.environ.get("MUSTER_TORCH") == "0":
        return "off because of MUSTER_TORCH=0; muster_torch.enable() turns it on"
    if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") == "0":
        return "off because of TORCH_DEVICE_BACKEND_AUTOLOAD=0; muster_torch.enable() turns it on"
    if dist.is_available() and _c10d.c10d._MPI_AVAILABLE:
        return "off: this PyTorch was built with its own MPI support; MUSTER_TORCH=replace uses muster's instead"
    return "off: PyTorch did not load it; muster_torch.enable() turns it on"


def _about_torch() -> None:
    print(f"muster_torch {muster_torch.__version__}")
    _line("PyTorch", f"{torch.__version__}; this package was built for {_built_for.TORCH}")
    _line("switch", _switch())
    _line("launcher", _launcher())


def _about_library(found: dict) -> None:
    _line("library", f"{found['library']} ({found['why']})")
    _line("ABI", _ABIS[found["abi"]])


def _about_mpi(mpi: dict) -> None:
    _line("MPI", mpi["version"])
    _line("thread level", mpi["thread_level"])
    rejected = "CUDA tensors are rejected unless MUSTER_MPI_STAGE_CUDA=1 copies them through the host's memory"
    cuda = "yes" if mpi["cuda_collectives"] else f"only send and recv: in collectives, {rejected}" if mpi["cuda_messages"] else f"no: {rejected}"
    _line("CUDA-aware", cuda)


def _would_not(why: object, rank: str) -> int:
    """Prints the reason and returns the exit code. Any rank that finds a problem does so, because rank 0 may be waiting for that rank in MPI_Init."""
    who = "" if rank == "0" else f"rank {rank} on {socket.gethostname()}: "
    print(f"{who}init_process_group(\"mpi\") would fail: {why}", file=sys.stdout if rank == "0" else sys.stderr, flush=True)
    return 1


def main() -> int:
    argparse.ArgumentParser(prog="python -m muster_torch.doctor", description=__doc__.partition(": ")[2],
                            formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    # Before MPI is initialised, the launcher's variable decides which rank prints; afterwards MPI does.
    rank = next((os.environ[name] for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID") if name in os.environ), "0")
    speaks = rank == "0"
    if speaks:
        _about_torch()
    try:
        found = _c10d.find()
        if not found["library"]:
            raise RuntimeError(f"muster found no MPI library that it can use; set MUSTER_MPI_LIBRARY=/path/to/libmpi.so to name one. It tried:{found['tried']}")
        if speaks:
            _about_library(found)
        mpi = _c10d.begin()
        if speaks:
            _about_mpi(mpi)
        if not muster_torch.is_enabled():
            return _would_not(_switch(), rank)
        dist.init_process_group("mpi")
    except (ImportError, RuntimeError) as error:
        return _would_not(error, rank)
    hosts: list = [None] * dist.get_world_size()
    dist.all_gather_object(hosts, socket.gethostname())
    if speaks:
        number = dist.get_world_size()
        where = ", ".join(f"{host} ({hosts.count(host)})" for host in dict.fromkeys(hosts))
        print(f"init_process_group(\"mpi\") works: {number} rank{'s' * (number != 1)} on {where}", flush=True)
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
