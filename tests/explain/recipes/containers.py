"""Failures that occur only inside containers."""
from tests.explain.recipes.recipe import Recipe

RECIPES = [
    Recipe("ssh-uid-without-passwd-entry", "a user without a name", "unshare --user --map-user 4711 mpirun -H n1,n2 hostname", mpi="openmpi4"),
    Recipe("ssh-uid-without-passwd-entry", "a user without a name, for PRRTE", "unshare --user --map-user 4711 mpirun -H n1,n2 hostname", mpi="openmpi5"),
]
