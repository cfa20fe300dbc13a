"""A small package with a native part, as many are."""
import ctypes
from pathlib import Path

import numpy as np

__version__ = "2.1"
_native = ctypes.CDLL(str(Path(__file__).with_name("libtextnorm.so")))
_native.textnorm_fields.argtypes = [ctypes.c_char_p]


def scale(values):
    return np.tanh(values)


class Normalizer:
    def __init__(self, alphabet):
        self.alphabet = alphabet

    def split(self, line):
        count = _native.textnorm_fields(line.encode())
        fields = line.rstrip(";").split(",")
        if len(fields) != count:
            raise ValueError(f"{len(fields)} fields instead of {count} in {line[:40]!r}")
        return fields
