"""Fixtures for the tests of libmuster: where it was built, and ranks without a launcher."""
import os
import subprocess
from pathlib import Path

import pytest
from comparisons.comparison import free_port
from tests.waiting import patient, run_mpirun


@pytest.fixture(scope="session")
def build(muster) -> Path:
    """The folder of the build under test, which contains libmuster."""
    folder = muster.parent.parent
    if not (folder / "lib/libmuster.so").exists():
        pytest.fail(f"no libmuster in {folder}/lib; build it: cmake --build {folder}", pytrace=False)
    return folder


def clean_environment():
    """Returns our environment without variables that a launcher may have set."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_", "GROUP_", "ROLE_", "MASTER_", "TORCHELASTIC_", "OMPI_", "PMIX_", "PMI_", "MPI_", "SLURM_", "PET_", "GLOO_", "MUSTER_JOB_KEY")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    return {**kept, "OMP_NUM_THREADS": "1"}


class Ranks:
    """Ranks on this host, started without a launcher."""

    def __init__(self, words, size, only=None, **environment):
        shared = {"WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
        self.processes = [subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                           env={**clean_environment(), **shared, "RANK": str(rank), "LOCAL_RANK": str(rank), **environment})
                          for rank in (range(size) if only is None else only)]

    def end(self, within=60):
        """Waits for all ranks, and returns ((standard output, standard error), exit code) of
        each."""
        try:
            return [(process.communicate(timeout=patient(within)), process.returncode) for process in self.processes]
        finally:
            for process in self.processes:
                if process.poll() is None:
                    process.kill()
                    process.wait(timeout=patient(10))

    def good(self, within=60):
        """Returns the standard outputs by rank. All ranks must have succeeded."""
        ends = self.end(within)
        assert [code for _, code in ends] == [0] * len(ends), "\n".join(err for (_, err), _ in ends)
        return [out for (out, _), _ in ends]


@pytest.fixture(scope="session")
def ranks():
    """Returns ranks(words, size, only=[...], VARIABLE=value), which starts all ranks or those in `only`."""
    return Ranks


@pytest.fixture(scope="session")
def alone():
    """Returns alone(words, VARIABLE=value), which runs one process without a launcher until its end."""

    def run(words, within=60, **environment):
        return run_mpirun([str(word) for word in words], env={**clean_environment(), **environment}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=patient(within))

    return run
