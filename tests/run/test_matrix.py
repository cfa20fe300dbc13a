"""The same programs under every engine: the same ranks in the same places, the same weights and the same network, on badly configured
hosts.

With MUSTER_WRITE_MATRIX=1, the table of what passed is written to docs/results/matrix.md.
"""
import os
import time
from fractions import Fraction

import pytest
from tests.run.launchers import LAUNCHERS, Pods, Slurm
from tests.run.result_table import write_table
from tests.run.slurm import Slurm as SlurmDaemons
from tests.run.slurm import crashed_as_open_mpi_does

pytestmark = pytest.mark.lab

RANKS, EACH = 6, 2
KINDS = {"mpi": "C++, MPI", "env": "C++, `env://`", "ddp": "Python, DistributedDataParallel"}
CELLS = [(launcher, kind) for launcher in LAUNCHERS for kind in KINDS if kind != "mpi" or launcher.mpi]
HOSTS = ["n1", "n2", "n3"]


def in_ci(launcher, kind):
    """Whether CI tests this cell. CI covers each kind of program, and every way in which hosts are reached and ranks learn their
    numbers: by ssh and by srun, from Open MPI, from PMI, from torchrun and in pods. Under Open MPI, tests/python covers scripts."""
    return (launcher.name, kind) in {("openmpi5", "mpi"), ("mpich", "env"), ("slurm-pmix", "env"), ("slurm-pmi2", "mpi"), ("torchrun", "ddp"), ("pods", "env")}


INTRO = """Seconds of `muster run`, 3 hosts x 2 ranks, written by `MUSTER_WRITE_MATRIX=1 pytest tests/run/test_matrix.py`. A cell passed when every rank was in its
place, had the exact weights (equal to the last bit in all cells) and, but for the Python script, showed the network that was decided in its own environment. The hosts have
different interface names, a docker0 with one address on all of them, and names that mean 127.0.1.1; the launcher has no torch."""
# The variables that name the interface for each layer. NCCL would read a bare name as a prefix.
NETWORK = {"GLOO_SOCKET_IFNAME": "{}", "NCCL_SOCKET_IFNAME": "={}", "TP_SOCKET_IFNAME": "{}", "UCX_NET_DEVICES": "{}", "FI_TCP_IFACE": "{}",
           "FI_SOCKETS_IFACE": "{}", "CCL_KVS_IFACE": "{}"}


def feature(rank, sample, column):
    return (7 * rank + 3 * sample + 5 * column**2 + sample * column) % 5 - 2


def exact_weights():
    """Returns the weights after the training of programs/linear_model.hpp, computed with fractions."""
    weights, truth = [Fraction(0)] * 3, [1, -2, 3]
    rows = [[feature(rank, sample, column) for column in range(3)] for rank in range(RANKS) for sample in range(4)]
    for _ in range(5):
        errors = [sum((w - t) * x for w, t, x in zip(weights, truth, row)) for row in rows]
        weights = [w - sum(e * row[i] for e, row in zip(errors, rows)) / 64 for i, w in enumerate(weights)]
    return " ".join(f"{float(weight):.9f}" for weight in weights)


@pytest.fixture(scope="module")
def bad_hosts(module_lab_up, make_cluster, programs, tmp_path_factory):
    """Hosts with different interface names, the same docker0 address, and names that resolve to 127.0.1.1. The launcher has no torch."""
    shared = tmp_path_factory.mktemp("slurm")
    lab = module_lab_up(hosts=3, nic_names="eth0,ens5,eno1", launcher_lacks="/opt/muster-deps/torch", share=shared)
    for what in ("docker0", "loopback-name"):
        lab.command("break", "n[1-3]", what)
    cluster = make_cluster(lab, programs)
    cluster.shared = shared
    cluster.interfaces = {host: lab.shell(host, "ip -o -4 addr show to 198.18.0.0/16").split()[1] for host in HOSTS}
    assert len(set(cluster.interfaces.values())) == 3
    return cluster


@pytest.fixture(scope="module")
def slurm(bad_hosts):
    return SlurmDaemons(bad_hosts.lab, bad_hosts.shared)


@pytest.fixture(scope="module")
def passed():
    """The seconds of every cell that passed."""
    seconds = {}
    yield seconds
    if os.environ.get("MUSTER_WRITE_MATRIX") == "1":
        write(seconds)


def write(seconds):
    rows = {launcher.name: ["not its kind" if (launcher, kind) not in CELLS else f"{seconds[launcher, kind]:.1f}" if (launcher, kind) in seconds else "FAILED"
                            for kind in KINDS]
            for launcher in LAUNCHERS}
    write_table("matrix.md", "Every engine, the same programs", INTRO, KINDS.values(), rows)


def expected_lines():
    weights, lines = exact_weights(), []
    for rank in range(RANKS):
        host = HOSTS[rank // EACH]
        lines.append(f"[{host}:{rank}] rank {rank} of {RANKS} on {host} local {rank % EACH} weights {weights}")
    return lines


def environment(out):
    """Returns what the ranks printed about their environment: {(host, rank, name): value}."""
    told = {}
    for line in out:
        label, _, text = line.partition(" ")
        if " has " in text:
            host, rank = label.strip("[]").split(":")
            name, _, value = text.partition(" has ")[2].partition("=")
            told[host, int(rank), name] = value.strip()
    return told


def check_environment(cluster, launcher, out):
    """Checks that each rank has the variables that muster decided on."""
    told = environment(out)
    addresses = [host["addresses"][0] for host in cluster.lab.status()["hosts"] if host["name"] in HOSTS]
    for rank in range(RANKS):
        host = HOSTS[rank // EACH]
        for name, form in NETWORK.items():
            assert told[host, rank, name] == form.format(cluster.interfaces[host]), (rank, name)
        for name, value in launcher.own_words.items():
            assert told[host, rank, name] == value, (rank, name)
        assert told[host, rank, "MASTER_ADDR"] in addresses
    assert len({told[HOSTS[rank // EACH], rank, "MASTER_ADDR"] for rank in range(RANKS)}) == 1


@pytest.mark.parametrize("launcher, kind", [pytest.param(launcher, kind, id=f"{launcher}-{kind}", marks=[] if in_ci(launcher, kind) else pytest.mark.campaign)
                                            for launcher, kind in CELLS])
def test_matrix(request, bad_hosts, programs, passed, launcher, kind):
    if isinstance(launcher, Slurm):
        request.getfixturevalue("slurm")
    flags, words = launcher.program(programs, kind)
    if kind != "ddp":
        words = [*words, "show", "MASTER_ADDR", *NETWORK, *launcher.own_words]
    for _ in range(3):
        started = time.monotonic()
        run = launcher.start(bad_hosts, words, *flags, each=EACH)
        code, seconds = run.end(120), time.monotonic() - started
        if not (isinstance(launcher, Slurm) and crashed_as_open_mpi_does(code, run.errors)):
            break
    assert code == 0, run.said()
    assert sorted(line.strip() for line in run.out if " weights " in line) == expected_lines(), run.said()
    if not isinstance(launcher, Pods):
        assert launcher.called in "\n".join(run.err)
        run.has_nothing_to_explain()
    if kind != "ddp":
        check_environment(bad_hosts, launcher, run.out)
    passed[launcher, kind] = seconds
