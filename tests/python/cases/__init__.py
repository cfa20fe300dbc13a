"""The expectations for a backend of torch.distributed, as cases that use the public API.

A case is called on every rank, asserts what must hold, and returns its results. Both backends must return the
same results.
"""
from typing import Callable

CASES: dict[str, Callable] = {}


def case(name=None):
    """Registers a function of (rank, size) as a case with this name."""

    def register(function):
        key = name or function.__name__
        assert key not in CASES, key
        CASES[key] = function
        return function

    return register


def load():
    """Returns all cases in the order in which they run."""
    from . import collectives, groups, messages, training  # noqa: F401

    return CASES
