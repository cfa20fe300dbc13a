"""torch.distributed's "mpi" backend for an unchanged PyTorch.

Once the package is installed, `import torch` loads it, and `init_process_group("mpi")` works. MUSTER_TORCH=0 or
TORCH_DEVICE_BACKEND_AUTOLOAD=0 in the environment turns that off. A PyTorch that was built with MPI keeps its own backend,
unless MUSTER_TORCH=replace.
"""
import contextlib
import os
import warnings
from importlib.metadata import version

__all__ = ["enable", "disable", "is_enabled"]
__version__ = version("muster-torch")


def enable(replace: bool = False) -> bool:
    """Makes muster provide "mpi". A PyTorch that was built with MPI keeps its own backend unless `replace` is set. Returns
    whether muster provides "mpi" now."""
    from . import _c10d

    _c10d.serve_records()
    return _c10d.enable(replace)


def disable() -> None:
    """Restores PyTorch's own "mpi". Existing groups continue to work."""
    from . import _c10d

    _c10d.disable()


def is_enabled() -> bool:
    """Returns whether muster provides the backend of init_process_group("mpi")."""
    from . import _c10d

    return _c10d.is_enabled()


def _warn(text: str) -> None:
    with contextlib.suppress(Warning):  # with python -W error, the warning becomes an exception, which must not escape
        warnings.warn(text, stacklevel=3)


def _autoload() -> None:
    """PyTorch calls this at the end of `import torch`, which fails if this raises an exception."""
    switch = os.environ.get("MUSTER_TORCH", "1")
    if switch not in ("0", "1", "replace"):
        _warn(f"MUSTER_TORCH={switch} is not 0 (off), 1 (the default) or replace (also replaces PyTorch's own MPI); muster_torch treats it as 1")
    if switch == "0":
        return
    try:
        enable(replace=switch == "replace")
    except Exception as error:  # noqa: BLE001: `import torch` must never fail because of muster_torch
        _warn(f"muster_torch cannot be used with this PyTorch, which continues without it: {error!r}")
