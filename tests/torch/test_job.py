"""muster::join and Job::group in a program, under launchers and alone."""
import contextlib
import os
import socket
from pathlib import Path

import pytest
from comparisons.comparison import OWN_NETWORK, free_port
from tests.run.launchers import MPI
from tests.waiting import until

PET = {"PET_NODE_RANK": "1", "PET_NNODES": "2", "PET_NPROC_PER_NODE": "1", "PET_MASTER_ADDR": "n1", "PET_MASTER_PORT": "29400"}
MPIRUN = {"openmpi5": ["--allow-run-as-root", "--bind-to", "none"], "mpich": []}
ALL_MASTER = {"MASTER_ADDR": "198.18.0.1", "MASTER_PORT": "29500"}
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "6", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
SLURM = {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_LOCALID": "0", "SLURM_NODEID": "1", "SLURM_STEP_NUM_NODES": "2",
         "SLURM_STEP_TASKS_PER_NODE": "1(x2)"}
TORCHRUN = {"TORCHELASTIC_RUN_ID": "x", "RANK": "2", "WORLD_SIZE": "4", "LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "4", "GROUP_RANK": "0",
            "GROUP_WORLD_SIZE": "1", "ROLE_RANK": "2"}


@pytest.fixture(scope="module")
def probe(build):
    return build / "tests/torch/job_probe"


@pytest.mark.parametrize("told, who, backend", [
    ({}, "a single process: no launcher has set a rank", "gloo: no launcher"),
    (SLURM, "rank 1 of 2, 1st of 1 on this host, 2 hosts, according to Slurm", "gloo: Slurm does not"),  # without a PMI
    (TORCHRUN, "rank 2 of 4, 3rd of 4 on this host, 1 host, according to torchrun", "gloo: torchrun does not"),
    (PET, "rank 1 of 2, 1st of 1 on this host, 2 hosts, according to PET; master n1:29400", "gloo: PET does not"),
    # torchrun in the pod has chosen another port.
    ({**PET, **TORCHRUN, **ALL_MASTER}, "rank 2 of 4, 3rd of 4 on this host, 1 host, according to torchrun; master 198.18.0.1:29500", "gloo: torchrun does not"),
    # The rank shim sets torch's variables in addition to the engine's, which take precedence.
    ({**OPEN_MPI, **TORCHRUN, **ALL_MASTER, "TORCHELASTIC_RUN_ID": "muster:1"},
     "rank 3 of 6, 2nd of 2 on this host, 3 hosts, according to Open MPI; master 198.18.0.1:29500", ""),
], ids=["alone", "slurm", "torchrun", "pod", "torchrun-in-pod", "shim"])
def test_join_says_who_this_is(probe, alone, told, who, backend):
    done = alone([probe, "who"], **told)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, who), done.stderr
    assert done.stdout.splitlines()[1].startswith(backend)


def test_the_reason_for_a_backend_is_one_line(probe, alone):
    """MUSTER_MPI_LIBRARY lets muster try a single library, and it cannot use that one."""
    done = alone([probe, "who"], **OPEN_MPI, MUSTER_MPI_LIBRARY="/nowhere/libmpi.so")
    _, why = done.stdout.splitlines()
    assert why.startswith("gloo: started by an MPI launcher, but muster found no MPI library that it can use. It tried: /nowhere/libmpi.so (MUSTER_MPI_LIBRARY): "), why


@pytest.mark.parametrize("told, complaint", [
    ({**OPEN_MPI, "PMI_RANK": "5"}, "OMPI_COMM_WORLD_RANK=3 contradicts PMI_RANK=5\n  hint: one of these variables is left over"),
    ({"MASTER_ADDR": "n1", "MASTER_PORT": "http"}, "MASTER_PORT='http' is not a port\n  hint: set a number from 1 to 65535"),
    ({**PET, "MASTER_ADDR": "n2"}, "MASTER_ADDR=n2 contradicts PET_MASTER_ADDR=n1\n  hint: one of the two variables is left over"),
], ids=["two-launchers", "port", "two-masters"])
def test_join_refuses_contradictions(probe, alone, told, complaint):
    done = alone([probe, "who"], **told)
    assert done.returncode == 1
    assert complaint in done.stderr


def test_two_groups_over_gloo(probe, ranks):
    assert ranks([probe, "group", "gloo", 20_000], 3).good() == [f"rank {rank} of 3: muster/0 6, muster/1 6, over gloo\n" for rank in range(3)]


def listeners(pid):
    """Returns addresses and ports on which a process accepts TCP connections."""
    found = set()
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            sockets.add(os.readlink(link))
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] != "0A" or f"socket:[{fields[9]}]" not in sockets:
                continue
            address, port = fields[1].split(":")
            words = [bytes.fromhex(address[at:at + 8])[::-1] for at in range(0, len(address), 8)]  # 32-bit words in this machine's byte order
            found.add((socket.inet_ntop(family, b"".join(words)), int(port, 16)))
    return found


def test_the_store_listens_at_the_master_address_only(probe, ranks):
    port = free_port()
    first = ranks([probe, "group", "gloo", 60_000], 2, only=[0], MASTER_ADDR="127.0.0.9", MASTER_PORT=port, GLOO_SOCKET_IFNAME="lo")
    pid = first.processes[0].pid
    until("rank 0 listens", lambda: any(bound == int(port) for _, bound in listeners(pid)), 30)
    addresses = {address for address, _ in listeners(pid)}
    second = ranks([probe, "group", "gloo", 60_000], 2, only=[1], MASTER_ADDR="127.0.0.9", MASTER_PORT=port, GLOO_SOCKET_IFNAME="lo")
    assert second.good() == ["rank 1 of 2: muster/0 3, muster/1 3, over gloo\n"]
    first.good()
    assert "127.0.0.9" in addresses and addresses <= {"127.0.0.9", "127.0.0.1"}, addresses


def test_alone_needs_no_network(probe, alone):
    """A single rank can make groups although the host has no interface but loopback and GLOO_SOCKET_IFNAME is wrong."""
    done = alone(["unshare", "--net", "sh", "-c", f"ip link set lo up && exec {probe} group gloo 5000"], GLOO_SOCKET_IFNAME="eth7")
    assert done.stdout == "rank 0 of 1: muster/0 1, muster/1 1, over gloo\n", done.stderr


def test_a_rank_is_told_that_rank_0_has_left(probe, ranks):
    """Rank 0 has the shorter time-out, so it gives up and ends first. A rank that still waits then reports that rank 0 has ended."""
    port = free_port()
    first = ranks([probe, "group", "gloo", 8000], 3, only=[0], MASTER_PORT=port)
    (((_, said), code),) = ranks([probe, "group", "gloo", 60_000], 3, only=[2], MASTER_PORT=port).end()
    assert code == 1
    assert "rank 0 has ended, and the group's key-value store with it: " in said
    (((_, said), _),) = first.end()
    assert "these ranks did not join the group within the timeout: rank 1\n" in said


def test_ranks_that_do_not_come_are_named(probe, ranks):
    """Rank 0 serves the store and names the missing ranks. If rank 0 itself is missing, the
    others say that."""
    port = free_port()
    # Rank 0 serves the store for longer, so that rank 2 may begin some seconds after it.
    started = [ranks([probe, "group", "gloo", limit], 4, only=[rank], MASTER_PORT=port) for rank, limit in ((2, 8000), (0, 14_000))]
    for (_, said), code in [end for one in started for end in one.end()]:
        assert code == 1
        assert "these ranks did not join the group within the timeout: ranks 1, 3\n" in said
    (((_, said), code),) = ranks([probe, "group", "gloo", 1000], 2, only=[1]).end()
    assert code == 1
    assert "rank 0 does not answer at 127.0.0.1:" in said


@pytest.mark.parametrize("backend, told, complaint", [
    ("gloo", OPEN_MPI, "find each other at MASTER_ADDR and MASTER_PORT, but neither is set (rank 3 of 6, 2nd of 2 on this host, 3 hosts, according to Open MPI)\n"
                       "  hint: start the job with muster run, which sets them"),
    ("gloo", {**TORCHRUN, "MASTER_ADDR": "n1"}, "but MASTER_PORT is not set"),
    ("nccl", {}, "NCCL is not available"),
    ("carrier-pigeon", {}, "there is no backend 'carrier-pigeon'\n  hint: \"auto\", \"gloo\", \"mpi\" or \"nccl\""),
], ids=["no-master", "no-port", "nccl", "unknown"])
def test_a_group_that_cannot_be(probe, alone, backend, told, complaint):
    done = alone([probe, "group", backend, 1000], **told)
    assert done.returncode == 1
    assert complaint in done.stderr


def test_interface_that_is_not_here(probe, ranks):
    for (_, said), code in ranks([probe, "group", "gloo", 2000], 2, GLOO_SOCKET_IFNAME="eth7").end():
        assert code == 1
        assert "GLOO_SOCKET_IFNAME names eth7, but this host has no such interface\n  hint: it has " in said


def test_master_name_that_means_loopback(probe, alone, tmp_path):
    """Debian gives a host's own name the address 127.0.1.1. If rank 0 announced that, other hosts
    would connect to themselves, so libmuster refuses it."""
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.1.1 n1\n")
    done = alone(["unshare", "--mount", "sh", "-c", f"mount --bind {hosts} /etc/hosts && exec {probe} group gloo 2000"],
                 RANK="0", WORLD_SIZE="2", MASTER_ADDR="n1", MASTER_PORT="29999")
    assert done.returncode == 1
    assert "MASTER_ADDR=n1 means 127.0.1.1 on this host, an address that other hosts cannot reach" in done.stderr


@pytest.mark.parametrize("mpi, backend, over", [("openmpi5", "auto", "mpi"), ("mpich", "auto", "mpi"), ("mpich", "gloo", "gloo")])
def test_groups_under_mpirun(probe, alone, mpi, backend, over):
    done = alone([*OWN_NETWORK, MPI[mpi] / "bin/mpirun", *MPIRUN[mpi], "-n", "2", probe, "group", backend, 20_000], MASTER_ADDR="127.0.0.1", MASTER_PORT=free_port())
    assert sorted(done.stdout.splitlines()) == [f"rank {rank} of 2: muster/0 3, muster/1 3, over {over}" for rank in range(2)], done.stderr


def test_mpi_that_does_not_know_its_peers(probe, alone):
    done = alone([probe, "group", "mpi", 5000], RANK="1", WORLD_SIZE="2")
    assert done.returncode == 1
    assert "MPI says that this is rank 0 of 1, but the job says: rank 1 of 2, " in done.stderr
