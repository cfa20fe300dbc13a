"""Networks that do not connect the hosts, and interfaces that are not there."""
from tests.explain.recipes.recipe import Recipe

RECIPES = [
    Recipe("hydra-iface", "an interface that the host does not have", "mpiexec -iface nosuch0 -hosts n1,n2 hostname", mpi="mpich", ci=True),
    Recipe("ompi-process-unreachable", "no transport between two hosts", "mpirun --mca btl self -H n1,n2 PROGRAM", mpi="openmpi5"),
    Recipe("ucx-unreachable-transport", "UCX may use shared memory only", "UCX_TLS=self,sm mpiexec -hosts n1,n2 PROGRAM", mpi="mpich"),
]
