"""In a job with libmuster, only its own ranks can take part, although everyone on its network can reach its ports."""
import re
import shutil
from pathlib import Path

import pytest
from comparisons.comparison import free_port
from tests.conftest import made_once
from tests.run.conftest import make_cluster  # noqa: F401  a fixture
from tests.run.launchers import DEPS, LAUNCHERS, Pods, Programs, Slurm
from tests.run.slurm import Slurm as SlurmDaemons
from tests.run.test_secrets import AS_OTHER
from tests.staging import staged

# Rank 1 prints where the ranks meet, and leaves its place to the impostor.
LATE = 'if [ "$RANK" = 1 ]; then echo "meet at $MASTER_ADDR $MASTER_PORT"; exec sleep 1000; fi; exec "$0" group gloo 60000'
CI = ("mpich", "torchrun")
IMPOSTOR = Path(__file__).with_name("programs") / "impostor.py"


def test_one_process(build, alone):
    done = alone([build / "tests/torch/membership_cases"])
    assert done.returncode == 0 and "[  PASSED  ]" in done.stdout, done.stdout[-4000:] + done.stderr[-2000:]


KEY = "0123456789abcdef0123456789abcdef"
FORWARD = "hint: muster run gives the same one to all ranks"


@pytest.mark.parametrize("keys, complaint", [
    ([KEY, ""], "rank 0 has MUSTER_JOB_KEY in its environment, but rank 1 does not\n  " + FORWARD),
    (["", KEY], "rank 1 has MUSTER_JOB_KEY in its environment, but rank 0 does not\n  " + FORWARD),
    ([KEY, KEY[::-1]], "somebody who is not a rank of this job has written muster/session to its key-value store"),
    ([KEY, "short"], "MUSTER_JOB_KEY has fewer than 32 characters"),
], ids=["not in rank 1", "not in rank 0", "different", "short"])
def test_keys_that_do_not_match_are_named(build, ranks, keys, complaint):
    port = free_port()
    started = [ranks([build / "tests/torch/job_probe", "group", "gloo", 30_000], 2, only=[rank], MASTER_PORT=port, MUSTER_JOB_KEY=key) for rank, key in enumerate(keys)]
    ((_, err), code), = started[1].end()
    started[0].processes[0].kill()  # rank 0 may wait longer
    started[0].end()
    assert code == 1 and err.startswith(complaint), err


@pytest.mark.parametrize("lazy", ["0", "1"])
def test_ranks_with_the_key_take_part(build, ranks, lazy):
    started = ranks([build / "tests/torch/job_probe", "group", "gloo", 20_000], 3, MUSTER_JOB_KEY=KEY, TORCH_GLOO_LAZY_INIT=lazy)
    assert started.good() == [f"rank {rank} of 3: muster/0 6, muster/1 6, over gloo\n" for rank in range(3)]


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
    prefix = "attempt0/" if launcher.name == "torchrun" else ""
    hosts.lab.write("n2", "/tmp/impostor.py", IMPOSTOR.read_text())
    impostor = hosts.lab.exec("n2", *AS_OTHER, DEPS / "torch/bin/python", "/tmp/impostor.py", address, port, prefix, root=True)
    assert impostor.returncode != 0 and impostor.stdout == "", impostor
    assert run.end(60) == 1, run.said()
    assert re.search(r"^.*\] somebody who is not a rank of this job has written muster/0/\S+ to its key-value store", run.errors, re.M), run.said()
    assert "hint: another user or another job connects to the ports of this job" in run.errors, run.said()
