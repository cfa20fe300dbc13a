"""Only the ranks of a job with libmuster take part in it, although its ports are open to everybody on its network."""
import re
import shutil

import pytest
from tests.conftest import made_once
from tests.run.conftest import make_cluster  # noqa: F401  a fixture
from tests.run.launchers import LAUNCHERS, Pods, Programs, Slurm
from tests.run.slurm import Slurm as SlurmDaemons
from tests.run.test_secrets import AS_OTHER
from tests.staging import staged

# Rank 1 tells where the ranks meet, and leaves its place to somebody else.
LATE = 'if [ "$RANK" = 1 ]; then echo "meet at $MASTER_ADDR $MASTER_PORT"; exec sleep 1000; fi; exec "$0" group gloo 60000'
CI = ("mpich", "torchrun")


def test_one_process(build, alone):
    done = alone([build / "tests/torch/membership_cases"])
    assert done.returncode == 0 and "[  PASSED  ]" in done.stdout, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.fixture(scope="module")
def hosts(module_lab_up, make_cluster, build, muster, shared_folder, tmp_path_factory):  # noqa: F811
    folder = made_once(shared_folder / "membership", lambda folder: shutil.copy(muster, Programs(folder).muster))
    shared = tmp_path_factory.mktemp("slurm")
    with staged(build, build / "tests/torch/job_probe", folder="tests/torch") as programs:
        cluster = make_cluster(module_lab_up(hosts=2, share=shared), Programs(folder))
        cluster.shared, cluster.probe = shared, str(programs / "job_probe")
        yield cluster


@pytest.fixture(scope="module")
def slurm(hosts):
    return SlurmDaemons(hosts.lab, hosts.shared)


@pytest.mark.lab
@pytest.mark.parametrize("launcher", [pytest.param(one, id=one.name, marks=[] if one.name in CI else pytest.mark.campaign)
                                      for one in LAUNCHERS if not isinstance(one, Pods)])
def test_another_user_cannot_join(request, hosts, launcher):
    if isinstance(launcher, Slurm):
        request.getfixturevalue("slurm")
    run = launcher.start(hosts, ["sh", "-c", LATE, hosts.probe])
    run.wait_for("meet at", 1, within=60)
    address, port = re.search(r"meet at (\S+) (\d+)", "\n".join(run.out)).groups()
    place = ["RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1", f"MASTER_ADDR={address}", f"MASTER_PORT={port}"]
    if launcher.name == "torchrun":
        place += ["TORCHELASTIC_RUN_ID=x", "TORCHELASTIC_USE_AGENT_STORE=True", "TORCHELASTIC_RESTART_COUNT=0", "GROUP_RANK=1", "GROUP_WORLD_SIZE=2", "ROLE_RANK=1"]
    impostor = hosts.lab.exec("n2", *AS_OTHER, "env", *place, hosts.probe, "group", "gloo", "20000", root=True)
    assert impostor.returncode == 1 and impostor.stdout == "", impostor
    assert run.end(60) == 1, run.said()
    assert "somebody who is not a rank of this job has written" in run.errors, run.said()
    assert "hint: another user or another job connects to this job's ports" in run.errors, run.said()
