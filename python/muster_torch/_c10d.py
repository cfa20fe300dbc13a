"""What torch.distributed has to be told so that "mpi" is muster's.

PyTorch treats "mpi" unlike every other backend: rank and size come from MPI, no store is used, and a class ProcessGroupMPI
makes the groups. So this class is given to it, rather than a backend registered under a name of its own.
"""
import functools
import os
import sys
import threading
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d

from . import _built_for

_originals: dict = {}  # (module, name): what was there
_local = threading.local()  # .timeout: of the group that is being made
_MISSING = object()


class ProcessGroupMPI:
    """Makes backends as PyTorch's class of this name does."""

    @staticmethod
    def create(ranks):
        """Of these ranks of MPI's, or of all. The members call it."""
        timeout = getattr(_local, "timeout", None) or c10d.default_pg_timeout
        mpi = begin()
        _refuse_contradictions(mpi)
        if ranks:
            _refuse_other_numbers(mpi)
            return backend_module().group(list(ranks), timeout.total_seconds())
        return backend_module().world(timeout.total_seconds())


@functools.lru_cache(None)
def backend_module():
    """The C++ part; an ImportError says what to do."""
    here = torch.__version__.split("+")[0].split(".")[:2]
    built = _built_for.TORCH.split("+")[0].split(".")[:2]
    if here != built:
        raise ImportError(f"this muster-torch was built for PyTorch {'.'.join(built)}, and this is PyTorch {torch.__version__}; build it for this one:\n"
                          "  pip install scikit-build-core && pip install --force-reinstall --no-deps --no-binary muster-torch "
                          "--no-build-isolation muster-torch")
    from . import _backend

    _backend.look_also_in(sys.prefix)
    return _backend


def find() -> dict:
    """The MPI that would be used: library, why, abi, tried. Loads it, and does not initialise it."""
    return backend_module().find()


def begin() -> dict:
    """MPI as it runs here: version, thread_level, cuda_aware, rank, size. Initialises it. Collective the first time."""
    return backend_module().begin()


def _refuse_contradictions(mpi: dict) -> None:
    """An MPI that knows of no launcher makes every process a job of one; nobody would notice that they train alone."""
    if mpi["size"] != 1:
        return
    torchrun = os.environ.get("WORLD_SIZE", "1")
    tasks = os.environ.get("SLURM_NTASKS", "1") if "SLURM_STEP_ID" in os.environ and "SLURM_PROCID" in os.environ else "1"
    launched = any(name in os.environ for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"))
    mpirun = "start the ranks with this MPI's mpirun"
    if tasks not in ("", "1") and os.environ.get("OMPI_COMM_WORLD_SIZE") is None:
        raise RuntimeError(f"MPI ({mpi['version']}) sees one rank, and SLURM_NTASKS says {tasks}: srun gave it no way to find the others. "
                           f"Use srun --mpi=pmix or --mpi=pmi2, whichever this MPI was built with, or {mpirun}")
    if torchrun not in ("", "1") and not launched:
        raise RuntimeError(f"MPI ({mpi['version']}) sees one rank, and WORLD_SIZE says {torchrun}: torchrun and its like start no MPI. "
                           f"For backend \"mpi\" {mpirun}, or with muster run --engine openmpi; under torchrun take \"gloo\"")


def _refuse_other_numbers(mpi: dict) -> None:
    """Beside a default group of another backend, ranks must mean the same."""
    if (mpi["rank"], mpi["size"]) != (dist.get_rank(), dist.get_world_size()):
        raise RuntimeError(f"MPI says that this is rank {mpi['rank']} of {mpi['size']}, and the default group that it is rank {dist.get_rank()} of "
                           f"{dist.get_world_size()}: a group over \"mpi\" needs the same numbers")


def is_mpi_available() -> bool:
    """Whether init_process_group("mpi") would find an MPI."""
    try:
        return bool(find()["library"])
    except ImportError:
        return False


def _with_timeout(make):
    """PyTorch does not tell the class for "mpi" how long operations may take; it tells its caller."""

    @functools.wraps(make)
    def helper(*args, timeout: timedelta | None = None, **options):
        before, _local.timeout = getattr(_local, "timeout", None), timeout
        try:
            return make(*args, timeout=timeout, **options)
        finally:
            _local.timeout = before

    return helper


def _split(original):
    """PyTorch splits groups of an accelerator's backend only; MPI's are split here."""

    @functools.wraps(original)
    def split_group(parent_pg=None, split_ranks=None, timeout=None, pg_options=None, group_desc=None, backend=None):
        parent = parent_pg or c10d._get_default_group()
        if c10d.get_backend(parent) != "mpi" or backend not in (None, "mpi"):
            return original(parent_pg, split_ranks, timeout, pg_options, group_desc, backend)
        return _split_mpi(parent, split_ranks, timeout, group_desc)

    return split_group


def _split_mpi(parent, split_ranks, timeout, group_desc):
    if not split_ranks or not all(split_ranks):
        raise ValueError("split_ranks holds a list of ranks for each new group, and none of them is empty")
    every = [rank for ranks in split_ranks for rank in ranks]
    if len(every) != len(set(every)):
        raise ValueError(f"split_ranks has a rank twice: {split_ranks}")
    if not set(every) <= set(range(parent.size())):
        raise ValueError(f"split_ranks are ranks of the group that is split, from 0 to {parent.size() - 1}: {split_ranks}")
    mine = next((sorted(ranks) for ranks in split_ranks if parent.rank() in ranks), None)
    if mine is None:
        return None
    members = [c10d.get_global_rank(parent, rank) for rank in mine]
    name = c10d._process_group_name(members, use_hashed_name=True)
    _, store = c10d._world.pg_map[c10d._get_default_group()]
    group, _ = c10d._new_process_group_helper(
        len(members), mine.index(parent.rank()), members, c10d.Backend("mpi"), store, group_name=name,
        timeout=timeout or c10d.default_pg_timeout, group_desc=group_desc or f"{parent.group_desc}:split")
    c10d._world.pg_group_ranks[group] = {member: rank for rank, member in enumerate(members)}
    return group


def enable(replace: bool = False) -> bool:
    if _originals:
        return True
    if not dist.is_available() or (c10d._MPI_AVAILABLE and not replace):
        return False
    _set(c10d, "ProcessGroupMPI", ProcessGroupMPI)
    _set(dist, "ProcessGroupMPI", ProcessGroupMPI)
    _set(c10d, "_MPI_AVAILABLE", True)
    _set(c10d, "_new_process_group_helper", _with_timeout(c10d._new_process_group_helper))
    split_group = _split(c10d.split_group)
    _set(c10d, "split_group", split_group)
    _set(dist, "split_group", split_group)
    # Not the one in c10d: there a "no" would end in PyTorch's advice to build it from source, instead of the reason.
    _set(dist, "is_mpi_available", is_mpi_available)
    return True


def _set(module, name: str, value) -> None:
    _originals[module, name] = getattr(module, name, _MISSING)
    setattr(module, name, value)


def disable() -> None:
    for (module, name), value in _originals.items():
        delattr(module, name) if value is _MISSING else setattr(module, name, value)
    _originals.clear()


def is_enabled() -> bool:
    return bool(_originals)
