"""What listens during a job, under every engine, on hosts with two networks. SECURITY.md says it in words."""
import re
import shutil

import pytest
from tests.conftest import made_once
from tests.run.conftest import make_cluster  # noqa: F401  a fixture
from tests.run.launchers import LAUNCHERS, Pods, Programs, Slurm, Torchrun
from tests.run.slurm import Slurm as SlurmDaemons

pytestmark = pytest.mark.lab

JOB_NETWORK = re.compile(r"198\.18\.\d+\.\d+")  # the other network of the lab is 198.19.0.0/16
HOLD = """import torch, torch.distributed as dist, time
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
print("joined", flush=True)
time.sleep(1000)
"""
KINDS = {"python": "joined", "confined": "joined", "libmuster": "over gloo"}
SERVES_STORE = (Torchrun, Pods)  # themselves


def in_ci(launcher, kind):
    return launcher.name == "mpich" or (launcher.name, kind) == ("torchrun", "python")


CASES = [pytest.param(launcher, kind, id=f"{launcher}-{kind}", marks=[] if in_ci(launcher, kind) else pytest.mark.campaign)
         for launcher in LAUNCHERS for kind in KINDS if not (kind == "confined" and isinstance(launcher, SERVES_STORE))]


@pytest.fixture(scope="module")
def hosts(module_lab_up, make_cluster, build, muster, shared_folder, tmp_path_factory):  # noqa: F811
    def fill(folder):
        shutil.copy(muster, Programs(folder).muster)
        (folder / "hold.py").write_text(HOLD)

    folder = made_once(shared_folder / "listeners", fill)
    shared = tmp_path_factory.mktemp("slurm")
    cluster = make_cluster(module_lab_up(hosts=2, nics=2, share=shared), Programs(folder))
    cluster.shared, cluster.folder, cluster.probe = shared, folder, str(build / "tests/torch/job_probe")
    return cluster


@pytest.fixture(scope="module")
def slurm(hosts):
    return SlurmDaemons(hosts.lab, hosts.shared)


def listeners(cluster):
    """(host, address, name of the process) of every TCP socket that accepts connections."""
    found = set()
    for host in ["launcher", *cluster.lab.hosts]:
        for line in cluster.lab.shell(host, "ss -ltnpH", root=True).splitlines():
            local, processes = line.split()[3], line.partition("users:")[2]
            address = local.rpartition(":")[0].strip("[]").partition("%")[0]
            found |= {(host, address, name) for name in re.findall(r'"([^"]+)"', processes) or ["unknown"]}
    return found


def words_of(cluster, launcher, kind):
    """(flags, words) of the program that joins and waits."""
    if kind == "libmuster":
        return [], [cluster.probe, "group", "gloo", "60000", "hold"]
    flags, (python, _) = launcher.program(cluster.programs, "ddp")
    return [*flags, *(["--confine-store"] if kind == "confined" else [])], [python, str(cluster.folder / "hold.py")]


@pytest.mark.parametrize("launcher, kind", CASES)
def test_what_listens(request, hosts, launcher, kind):
    if isinstance(launcher, Slurm):
        request.getfixturevalue("slurm")
    before = listeners(hosts)
    flags, words = words_of(hosts, launcher, kind)
    run = launcher.start(hosts, words, *flags)
    run.wait_for(KINDS[kind], 2, within=60)
    opened = listeners(hosts) - before
    run.signal("INT")
    run.end(60)
    print(sorted(opened))
    inside = {one for one in opened if one[1] in ("127.0.0.1", "::1") or JOB_NETWORK.fullmatch(one[1])}
    assert not [one for one in opened if one[2].startswith("muster")], opened
    outside = {name for _, _, name in opened - inside}
    programs = {"python", "python3", "job_probe", "pt_main_thread"} & outside
    if kind == "python":
        assert programs, opened  # PyTorch's store
    else:
        assert not programs, opened
    assert inside, opened
