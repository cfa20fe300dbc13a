"""Networks that do not connect the hosts, and interfaces that do not exist."""
from pathlib import Path

from tests.explain.recipes.recipe import Recipe, on
from tests.explain.recipes.training import TRAIN, torchrun

FIREWALL = {"firewall.py": (Path(__file__).parents[2] / "checks/rejecting_firewall.py").read_text(encoding="utf-8")}


def reject(host, *addresses, how="rst"):
    """Returns a step that makes the host's own firewall reject connections from these addresses, except ssh."""
    return on(host, "; ".join(f"python3 HERE/firewall.py reject {how} {address}" for address in addresses))


def open_again(hosts):
    return on(hosts, "python3 HERE/firewall.py clear")


N1, N2, LAUNCHER = "198.18.1.1", "198.18.1.2", "198.18.0.1"

# The store is on n3, which both other hosts reach.
RANKS = " & ".join(f"ssh {host} MASTER_ADDR=n3 MASTER_PORT=29500 RANK={rank} WORLD_SIZE=3 timeout 80 TORCH/python HERE/train.py" for rank, host in enumerate(("n3", "n1", "n2"))) + " & wait"

RECIPES = [
    Recipe("hydra-iface", "an interface that the host does not have", "mpiexec -iface nosuch0 -hosts n1,n2 hostname", mpi="mpich", follows=("hydra-gave-up",), ci=True),
    Recipe("ompi-process-unreachable", "no transport between two hosts", "mpirun --mca btl self -H n1,n2 PROGRAM", mpi="openmpi5", follows=("mpi-call-failed",)),
    Recipe("ompi-process-unreachable", "no transport between two hosts, for Open MPI 4", "mpirun --mca btl self -H n1,n2 PROGRAM", mpi="openmpi4"),
    Recipe("ucx-unreachable-transport", "UCX may use shared memory only", "UCX_TLS=self,sm mpiexec -hosts n1,n2 PROGRAM", mpi="mpich", follows=("mpi-call-failed",)),
    Recipe("gloo-ifname-invalid", "GLOO_SOCKET_IFNAME names no interface", torchrun("HERE/train.py", before="GLOO_SOCKET_IFNAME=nosuch0"), files={"train.py": TRAIN}, says="nosuch0"),
    Recipe("gloo-fullmesh-failed", "a firewall between two ranks of a training", RANKS, [reject("n1", N2), reject("n2", N1)], [open_again("n1,n2")],
           files={"train.py": TRAIN, **FIREWALL}, within=90),
    Recipe("ompi-btl-tcp-virtual-interfaces", "a firewall that refuses the ranks of Open MPI 4", "timeout 30 mpirun -H n1,n2 PROGRAM", [reject("n1", N2), reject("n2", N1)], [open_again("n1,n2")],
           files=FIREWALL, mpi="openmpi4", follows=("ompi-tcp-connect-failed",)),
    Recipe("ompi-btl-tcp-virtual-interfaces", "a firewall that rejects the ranks of Open MPI 5 by ICMP", "timeout 30 mpirun -H n1,n2 PROGRAM",
           [reject("n1", N2, how="icmp"), reject("n2", N1, how="icmp")], [open_again("n1,n2")], files=FIREWALL, mpi="openmpi5"),
    Recipe("ompi-oob-no-common-interface", "Open MPI's daemons cannot connect back", "timeout 60 mpirun -H n1,n2 hostname", [reject("launcher", N1, N2)], [open_again("launcher")],
           files=FIREWALL, mpi="openmpi4", within=70),
    Recipe("ompi-daemons-not-started", "PRRTE's daemons cannot connect back", "timeout 60 mpirun -H n1,n2 hostname", [reject("launcher", N1, N2)], [open_again("launcher")],
           files=FIREWALL, mpi="openmpi5", within=70),
    Recipe("hydra-launcher-unreachable", "hydra's proxies cannot connect back", "timeout 60 mpiexec -hosts n1,n2 hostname", [reject("launcher", N1, N2)], [open_again("launcher")],
           files=FIREWALL, mpi="mpich", within=70, says="launcher"),
    Recipe("ompi-lost-daemon", "Open MPI 4's daemon dies", "timeout 40 mpirun -H n1,n2 sh -c 'test $(hostname) = n1 || kill -KILL $(pgrep -o orted); sleep 30'", mpi="openmpi4", says="n2"),
    Recipe("peer-hostname-unresolvable", "hydra looks for the IPv4 address of a host that has none", "timeout 40 mpiexec -hosts n1,n2 hostname", mpi="mpich", lab="hosts=2 ip=6", says="launcher"),
    Recipe("engine-without-ipv6", "MPICH for hosts that have IPv6 only", "muster check -H n[1-2] --engine mpich --json", mpi="mpich", lab="hosts=2 ip=6", hosts=()),
]
