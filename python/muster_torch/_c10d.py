"""Registers muster's "mpi" with torch.distributed.

PyTorch treats "mpi" unlike every other backend: rank and size come from MPI, and no store is used. From 2.14 on, "mpi" is registered
like other backends. Before that, a class ProcessGroupMPI makes the groups and register_backend rejects the name, so muster replaces this
class.
"""
import atexit
import contextlib
import functools
import os
import sys
import threading
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d

from . import _built_for

_undo: list = []  # functions that undo what enable() did, last first
_local = threading.local()  # .timeout: the time-out of the group that this thread is making
_OF_MPIS_LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK")


def _create(ranks, timeout: timedelta):
    """Makes a backend for these of MPI's ranks, or for all ranks if `ranks` is empty. Collective over the members."""
    begin()
    seconds = timeout.total_seconds()
    return backend_module().group(list(ranks), seconds) if ranks else backend_module().world(seconds)


class ProcessGroupMPI:
    """Makes backends like PyTorch's class of this name."""

    @staticmethod
    def create(ranks):
        return _create(ranks, getattr(_local, "timeout", None) or c10d.default_pg_timeout)


def _is_built_for_this() -> bool:
    return _minor(torch.__version__) == _minor(_built_for.TORCH)


def _minor(version: str) -> list:
    return version.split("+")[0].split(".")[:2]


@functools.lru_cache(None)
def backend_module():
    """Returns the C++ module. If it cannot be used, raises an ImportError that says what to do."""
    if not _is_built_for_this():
        raise ImportError(f"this muster-torch was built for PyTorch {'.'.join(_minor(_built_for.TORCH))}, and this is PyTorch {torch.__version__}; rebuild it in a clone of muster's repository:\n"
                          "  pip install scikit-build-core 'cmake>=3.25' ninja\n"
                          "  pip install --force-reinstall --no-deps --no-build-isolation .")
    from . import _backend

    _backend.look_also_in(sys.prefix)
    return _backend


def find() -> dict:
    """Returns a description of the MPI that would be used: library, why, abi, tried. Loads this MPI, but does not initialise it."""
    return backend_module().find()


def serve_records() -> None:
    """Serves this process's record of collectives to `muster why`, on a socket in the folder MUSTER_RECORDERS. Does nothing if that is
    impossible."""
    if not os.environ.get("MUSTER_RECORDERS"):
        return
    with contextlib.suppress(Exception):  # a job must not fail because of this
        module = backend_module()
        if module.serve_records():
            atexit.register(module.stop_serving)  # a request may need the interpreter, so stop before it ends


@functools.lru_cache(None)
def begin() -> dict:
    """Initialises MPI and returns a description of it: version, thread_level, cuda_messages, cuda_collectives, rank, size. The first call is
    collective."""
    mpi = backend_module().begin()
    # Callbacks of operations may be Python code, which cannot run any more when the process exits.
    atexit.register(backend_module().settle)
    _refuse_contradictions(mpi)
    return mpi


def _number(name: str) -> int:
    """Returns the number in an environment variable, or 0 if the variable has none."""
    value = os.environ.get(name, "")
    return int(value) if value.isdigit() else 0


def _refuse_contradictions(mpi: dict) -> None:
    """Raises an error if MPI sees a single rank but the launcher started several. Otherwise each process would train alone, and nobody
    would notice."""
    if mpi["size"] != 1:
        return
    sees_one = f"MPI ({mpi['version']}) sees one rank"
    mpirun = "start the ranks with this MPI's mpirun"
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
        if _number(name) > 1:
            raise RuntimeError(f"{sees_one}, but {name} says {_number(name)}: the launcher belongs to a different MPI from {find()['library']}, "
                               f"which muster chose because of: {find()['why']}. S{mpirun[1:]}, or set MUSTER_MPI_LIBRARY=/path/to/libmpi.so to the library of the launcher's MPI")
        if _number(name) == 1:
            return
    if _number("SLURM_STEP_NUM_TASKS") > 1:
        raise RuntimeError(f"{sees_one}, but SLURM_STEP_NUM_TASKS says {_number('SLURM_STEP_NUM_TASKS')}: srun did not tell MPI how to find the other ranks. "
                           f"Use srun --mpi=pmix or --mpi=pmi2, whichever this MPI was built with, or {mpirun}")
    if _number("WORLD_SIZE") > 1:
        raise RuntimeError(f"{sees_one}, but WORLD_SIZE says {_number('WORLD_SIZE')}: torchrun and similar launchers do not start MPI. "
                           f"For the backend \"mpi\", {mpirun}, or with muster run --engine openmpi; under torchrun, use \"gloo\"")


def _refuse_other_numbers(rank: int, size: int, whose: str) -> None:
    mpi = begin()
    if (mpi["rank"], mpi["size"]) != (rank, size):
        raise RuntimeError(f"according to MPI this is rank {mpi['rank']} of {mpi['size']}, but according to {whose} rank {rank} of {size}: "
                           "for a group over \"mpi\" the numbers must be the same")


def is_mpi_available() -> bool:
    """Returns whether init_process_group("mpi") would find an MPI. Returns False if WORLD_SIZE announces several ranks, but no launcher of MPI jobs
    started them."""
    if _number("WORLD_SIZE") > 1 and not any(name in os.environ for name in _OF_MPIS_LAUNCHERS):
        return False
    try:
        return bool(find()["library"])
    except ImportError:
        return False


def _backends(backend) -> set:
    """Returns the backends of all devices: "cpu:gloo,cuda:mpi" names two. Returns an empty set at once if "mpi" is not among them."""
    if "mpi" not in str(backend):
        return set()
    return set(c10d.BackendConfig(c10d.Backend(str(backend))).get_device_backend_map().values())


def _making_groups(make):
    """Wraps the function with which PyTorch makes groups. On its own, that function does nothing on ranks that are not members, although all ranks
    must take part in initialising MPI. Before 2.14, it also does not pass the time-out of operations to the class for "mpi"."""

    @functools.wraps(make)
    def helper(group_size, group_rank, global_ranks_in_group, backend, *args, timeout: timedelta | None = None, **options):
        if "mpi" in _backends(backend):
            if global_ranks_in_group:
                _refuse_other_numbers(dist.get_rank(), dist.get_world_size(), "the default group")
            elif group_size != -1:
                _refuse_other_numbers(group_rank, group_size, "the rendezvous")
        before, _local.timeout = getattr(_local, "timeout", None), timeout
        try:
            return make(group_size, group_rank, global_ranks_in_group, backend, *args, timeout=timeout, **options)
        finally:
            _local.timeout = before

    return helper


def _split(original):
    """Wraps split_group. PyTorch splits only groups of an accelerator's backend, so MPI groups are split here."""

    @functools.wraps(original)
    def split_group(parent_pg=None, split_ranks=None, timeout=None, pg_options=None, group_desc=None, backend=None):
        parent = parent_pg or c10d._get_default_group()
        if _backends(c10d.get_backend(parent)) != {"mpi"} or (backend is not None and _backends(backend) != {"mpi"}):
            return original(parent_pg, split_ranks, timeout, pg_options, group_desc, backend)
        return _split_mpi(parent, split_ranks, timeout, group_desc)

    return split_group


def _split_mpi(parent, split_ranks, timeout, group_desc):
    if not split_ranks or not all(split_ranks):
        raise ValueError("split_ranks must hold a non-empty list of ranks for each new group")
    every = [rank for ranks in split_ranks for rank in ranks]
    if len(every) != len(set(every)):
        raise ValueError(f"split_ranks has a rank twice: {split_ranks}")
    if not set(every) <= set(range(parent.size())):
        raise ValueError(f"split_ranks must be ranks of the group that is split, from 0 to {parent.size() - 1}: {split_ranks}")
    mine = next((sorted(ranks) for ranks in split_ranks if parent.rank() in ranks), None)
    if mine is None:
        return None
    members = [c10d.get_global_rank(parent, rank) for rank in mine]
    name = c10d._process_group_name(members, use_hashed_name=True)
    while name in c10d._world.pg_names.values():  # PyTorch derives the name from the ranks and the number of groups, so it may exist already
        name = c10d.GroupName(f"{name}+")
    _, store = c10d._world.pg_map[c10d._get_default_group()]
    group, _ = c10d._new_process_group_helper(
        len(members), mine.index(parent.rank()), members, c10d.Backend("mpi"), store, group_name=name,
        timeout=timeout or c10d.default_pg_timeout, group_desc=group_desc or f"{parent.group_desc}:split")
    c10d._world.pg_group_ranks[group] = {member: rank for rank, member in enumerate(members)}
    return group


def enable(replace: bool = False) -> bool:
    if _undo:
        return True
    if not dist.is_available() or (c10d._MPI_AVAILABLE and not replace):
        return False
    _register() if hasattr(c10d.Backend, "_ensure_backend_registered") else _give_class()
    # is_mpi_available is replaced in torch.distributed only. If it returned False in c10d, PyTorch would advise the user to build it from source
    # instead of showing our reason.
    _set(dist, "is_mpi_available", is_mpi_available)
    if not _is_built_for_this():
        return True  # the first group fails and says what to do; other backends are unaffected
    _set(c10d, "_new_process_group_helper", _making_groups(c10d._new_process_group_helper))
    split_group = _split(c10d.split_group)
    _set(c10d, "split_group", split_group)
    _set(dist, "split_group", split_group)
    return True


def _register() -> None:
    """Registers "mpi" with PyTorch 2.14 and later, which uses its own entry point only for names that nobody has registered."""
    backend, plugins = c10d.Backend, c10d.Backend._plugins
    before = plugins.get("MPI")
    backend.register_backend("mpi", lambda options, _: _create(options.global_ranks_in_group, options.timeout), extended_api=True,
                             devices=backend.backend_capability["mpi"], _backend_type=c10d.ProcessGroup.BackendType.MPI)
    _undo.append(lambda: plugins.update(MPI=before) if before else plugins.pop("MPI"))
    _set(c10d, "_create_process_group_wrapper", _unless_mpi(c10d._create_process_group_wrapper))


def _unless_mpi(wrap):
    """Wraps the function with which PyTorch checks each collective if TORCH_DISTRIBUTED_DEBUG is DETAIL. The check needs a store, which
    MPI groups lack, but from 2.14 on PyTorch tries it with every registered backend."""

    @functools.wraps(wrap)
    def create(wrapped_pg, *args, **options):
        return wrapped_pg if wrapped_pg.name() == "mpi" else wrap(wrapped_pg, *args, **options)

    return create


def _give_class() -> None:
    """Makes PyTorch 2.12 and 2.13 behave as if they had been built with MPI."""
    _set(c10d, "ProcessGroupMPI", ProcessGroupMPI)
    _set(dist, "ProcessGroupMPI", ProcessGroupMPI)
    _set(c10d, "_MPI_AVAILABLE", True)


def _set(module, name: str, value) -> None:
    before = getattr(module, name, None)
    _undo.append(lambda: setattr(module, name, before) if before is not None else delattr(module, name))
    setattr(module, name, value)


def disable() -> None:
    while _undo:
        _undo.pop()()


def is_enabled() -> bool:
    return bool(_undo)
