"""What user-level tests share: the binary under test."""
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The source tree."""
    return ROOT


@pytest.fixture(scope="session")
def muster() -> Path:
    """The binary: $MUSTER, else the release build's, else the dev build's."""
    named = os.environ.get("MUSTER")
    candidates = [Path(named)] if named else [ROOT / "build" / p / "bin/muster" for p in ("release", "dev")]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return candidate.resolve()
    looked = ", ".join(map(str, candidates))
    pytest.fail(f"no muster binary ({looked}); build it: cmake --workflow --preset release", pytrace=False)
