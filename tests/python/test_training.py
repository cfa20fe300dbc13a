"""Scripts that use "mpi", unchanged, under every launcher. Their losses must equal Gloo's."""
import re

import pytest
from tests.run.conftest import Cluster
from tests.run.launchers import LAUNCHERS, Slurm
from tests.run.slurm import Slurm as SlurmDaemons

pytestmark = pytest.mark.lab
STARTERS = [launcher for launcher in LAUNCHERS if launcher.mpi]
HOSTS, EACH = ["n1", "n2", "n3"], 2


@pytest.fixture(scope="module")
def cluster(venv, scripts, module_lab_up, tmp_path_factory):
    shared = tmp_path_factory.mktemp("slurm")
    cluster = Cluster(module_lab_up(hosts=3, share=shared))
    cluster.shared = shared
    return cluster


@pytest.fixture(scope="module")
def slurm(cluster):
    return SlurmDaemons(cluster.lab, cluster.shared)


SLURM_FLAGS = {"slurm-pmix": ["--engine-arg=--mpi=pmix"],
               "slurm-pmi2": ["--engine-arg=--mpi=pmi2", "-x", "MUSTER_MPI_LIBRARY=/opt/muster-deps/mpich/lib/libmpi.so.12"]}
SCRIPTS = [["toy.py", "3", "2"], ["resnet.py"]]


def train(cluster, venv, programs, launcher, backend, scripts, flags=()):
    """Returns rank 0's output: {"toy epoch 0": loss, ...}, and its other lines."""
    words = ["python", "-W", "ignore", programs / "one_after_the_other.py"]
    for script, *arguments in scripts:
        words += [*(["--"] if words[-1] == backend else []), programs / script, *arguments, backend]
    run = launcher.start(cluster, list(map(str, words)), "--activate", f"source {venv}/bin/activate", "-x", "OMP_NUM_THREADS=1", *flags, each=EACH)
    assert run.end(150) == 0, run.said()
    said = [line.removeprefix("[n1:0] ") for line in run.out if line.startswith("[n1:0]")]
    return ({match[1]: float(match[2]) for line in said if (match := re.fullmatch(r"(.*) loss ([\d.]+)", line))},
            [line for line in said if " loss " not in line])


@pytest.fixture(scope="module")
def with_gloo(cluster, venv, scripts):
    """Returns the same as train(), over Gloo. Uses one job per script, because PyTorch's own rendezvous fails for a second script in the same
    processes."""
    said = [train(cluster, venv, scripts / "programs", STARTERS[0], "gloo", [script]) for script in SCRIPTS]
    return said[0][0] | said[1][0], said[0][1] + said[1][1]


@pytest.mark.parametrize("launcher", [pytest.param(one, id=str(one), marks=[] if one.name == "openmpi5" else pytest.mark.campaign) for one in STARTERS])
def test_the_losses_are_those_of_gloo(request, cluster, venv, scripts, with_gloo, launcher):
    flags = ()
    if isinstance(launcher, Slurm):
        request.getfixturevalue("slurm")
        # A script is not linked to an MPI, so the user names the PMI that the MPI uses, and where the MPI is if the dynamic linker
        # does not find it.
        flags = SLURM_FLAGS[launcher.name]
    losses, others = train(cluster, venv, scripts / "programs", launcher, "mpi", SCRIPTS, flags)
    expected, expected_others = with_gloo
    assert len(losses) == 6 and losses.keys() == expected.keys()
    assert losses == pytest.approx(expected, abs=1e-6)
    assert others == expected_others
    assert f"ring hosts {' '.join(host for host in HOSTS for _ in range(EACH))}" in others and "ring sum 15" in others
