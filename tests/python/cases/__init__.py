"""What a backend of torch.distributed is expected to do, as cases over the public API.

A case is called on every rank, asserts what must hold, and returns what it got; both backends must return the same.
"""
from typing import Callable

CASES: dict[str, Callable] = {}


def case(name=None):
    """Registers a function of (rank, size) under its name."""

    def register(function):
        key = name or function.__name__
        assert key not in CASES, key
        CASES[key] = function
        return function

    return register


def load():
    """Every case, in the order in which they are run."""
    from . import collectives, groups, messages, training  # noqa: F401

    return CASES
