"""Hosts for the examples in C++ and in Python. They have different interface names, a docker0 with the same address on all of them, and
names that resolve to 127.0.1.1. The launcher has no PyTorch."""
from types import SimpleNamespace

import pytest
from tests.run.conftest import Cluster
from tests.run.launchers import Slurm
from tests.run.slurm import Slurm as SlurmDaemons

NIC_NAMES = ("eth0", "ens5", "eno1")


def example_hosts(lab_up, count, muster, shared):
    """Returns a cluster with this many hosts, which share the folder `shared`."""
    lab = lab_up(hosts=count, nic_names=",".join(NIC_NAMES[:count]), launcher_lacks="/opt/muster-deps/torch", share=shared)
    for what in ("docker0", "loopback-name"):
        lab.command("break", f"n[1-{count}]", what)
    cluster = Cluster(lab, SimpleNamespace(muster=str(muster)))
    cluster.shared = shared
    return cluster


@pytest.fixture(scope="module")
def slurm(hosts):
    return SlurmDaemons(hosts.lab, hosts.shared)


@pytest.fixture
def launched(request, launcher):
    """Returns the launcher, after starting the daemons that it needs."""
    if isinstance(launcher, Slurm):
        request.getfixturevalue("slurm")
    return launcher
