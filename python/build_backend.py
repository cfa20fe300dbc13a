"""scikit-build-core's build backend, with one change: without PyTorch, the build stops with advice, before pip
downloads a PyTorch that would not help."""
import importlib.util

from scikit_build_core.build import *  # noqa: F403
from scikit_build_core.build import get_requires_for_build_wheel as _requires

_WITHOUT_PYTORCH = """
`pip install .` builds the Python package muster-torch, not the muster command.
The command:  cmake -B build -G Ninja && cmake --build build && cmake --install build --prefix ~/.local
muster-torch: pip install torch scikit-build-core cmake ninja && pip install --no-build-isolation --no-cache-dir .
"""


def get_requires_for_build_wheel(config_settings=None):
    # With build isolation, pip's environment has no PyTorch. With --no-build-isolation, the user's is used.
    if importlib.util.find_spec("torch") is None:
        raise SystemExit(_WITHOUT_PYTORCH)
    return _requires(config_settings)
