"""The sockets that listen during a job, under every engine, on hosts with two networks. SECURITY.md
describes them.

With MUSTER_WRITE_LISTENERS=1, the table of what was seen is written to docs/results/listeners.md.
"""
import os
import re
import shutil

import pytest
from tests.conftest import made_once
from tests.run.conftest import make_cluster  # noqa: F401  a fixture
from tests.run.launchers import LAUNCHERS, Pods, Programs, Slurm, Torchrun
from tests.run.result_table import write_table
from tests.run.slurm import Slurm as SlurmDaemons
from tests.staging import staged

pytestmark = pytest.mark.lab

INTRO = """Every TCP socket that accepted connections on two hosts and the launcher, apart from those that were there before the job, written by
`MUSTER_WRITE_LISTENERS=1 pytest -m "campaign or not campaign" tests/torch/test_listeners.py`. The hosts have two networks, of which the job uses the first. "everywhere" means
all interfaces, "the job's network" an address of that network. Sockets that accept connections only from their own host (127.0.0.1, ::1) are left out."""
JOB_NETWORK = re.compile(r"198\.18\.\d+\.\d+")  # the lab's other network is 198.19.0.0/16
HOLD = """import torch, torch.distributed as dist, time
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
print("joined", flush=True)
time.sleep(1000)
"""
KINDS = {"python": "Python", "confined": "Python, `--confine-store`", "libmuster": "C++ with libmuster"}
JOINED = {"python": "joined", "confined": "joined", "libmuster": "over gloo"}
LOOPBACK = ("127.0.0.1", "::1")
EVERYWHERE = ("0.0.0.0", "::", "*")
SERVES_STORE = (Torchrun, Pods)  # under these, muster does not serve the store and cannot confine it
DAEMONS = {"mpirun", "orted", "prted", "prterun", "salloc", "srun", "slurmstepd"}  # of the engines
PYTORCH = {"python", "python3", "pt_main_thread", "torchrun", "pt_elastic"}


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
    with staged(build, build / "tests/torch/job_probe", folder="tests/torch") as programs:
        cluster = make_cluster(module_lab_up(hosts=2, nics=2, share=shared), Programs(folder))
        cluster.shared, cluster.folder, cluster.probe = shared, folder, str(programs / "job_probe")
        yield cluster


@pytest.fixture(scope="module")
def slurm(hosts):
    return SlurmDaemons(hosts.lab, hosts.shared)


def listeners(cluster):
    """Returns (host, address, process name) of every TCP socket that accepts connections."""
    found = set()
    for host in ["launcher", *cluster.lab.hosts]:
        for line in cluster.lab.shell(host, "ss -ltnpH", root=True).splitlines():
            local, processes = line.split()[3], line.partition("users:")[2]
            address = local.rpartition(":")[0].strip("[]").partition("%")[0]
            names = set(re.findall(r'"([^"]+)"', processes)) or {"unknown"}
            found |= {(host, address, name) for name in names & {"salloc"} or names}  # processes that salloc starts inherit its socket
    return found


@pytest.fixture(scope="module")
def seen():
    """Yields {case: the sockets that it opened}."""
    opened = {}
    yield opened
    if os.environ.get("MUSTER_WRITE_LISTENERS") == "1":
        rows = {launcher.name: [cell(opened, launcher, kind) for kind in KINDS] for launcher in LAUNCHERS}
        write_table("listeners.md", "What listens during a job", INTRO, KINDS.values(), rows)


def cell(opened, launcher, kind):
    if (launcher, kind) not in opened:
        return "not possible" if kind == "confined" and isinstance(launcher, SERVES_STORE) else "FAILED"
    where = {(name, "the job's network" if JOB_NETWORK.fullmatch(address) else "everywhere" if address in EVERYWHERE else address)
             for _, address, name in opened[launcher, kind] if address not in LOOPBACK}
    return "; ".join(f"{name}: {place}" for name, place in sorted(where))


def words_of(cluster, launcher, kind):
    """Returns (flags, words) of the program that joins and waits."""
    if kind == "libmuster":
        return [], [cluster.probe, "group", "gloo", "60000", "hold"]
    flags, (python, _) = launcher.program(cluster.programs, "ddp")
    return [*flags, *(["--confine-store"] if kind == "confined" else [])], [python, str(cluster.folder / "hold.py")]


@pytest.mark.parametrize("launcher, kind", CASES)
def test_what_listens(request, hosts, seen, launcher, kind):
    if isinstance(launcher, Slurm):
        request.getfixturevalue("slurm")
    before = listeners(hosts)
    flags, words = words_of(hosts, launcher, kind)
    run = launcher.start(hosts, words, *flags)
    run.wait_for(JOINED[kind], 2, within=60)
    opened = listeners(hosts) - before
    run.signal("INT")
    run.end(60)
    outside = {name for _, address, name in opened if address not in LOOPBACK and not JOB_NETWORK.fullmatch(address)}
    assert outside <= PYTORCH | DAEMONS, opened
    assert not [one for one in opened if one[2].startswith("muster")], opened
    assert any(address not in EVERYWHERE for _, address, _ in opened), opened  # at least Gloo's sockets are seen
    assert bool(outside & PYTORCH) == (kind == "python" or isinstance(launcher, SERVES_STORE)), opened  # PyTorch's store
    seen[launcher, kind] = opened
