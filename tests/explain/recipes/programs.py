"""A rank of an MPI program fails."""
from tests.explain.recipes.launchers import ON_HOSTS
from tests.explain.recipes.recipe import Recipe

OPEN_MPI = "mpirun -np 2 -H n1,n2 --mca btl_tcp_if_include 198.18.0.0/16"
COMMANDS = ON_HOSTS | {"openmpi4": OPEN_MPI, "openmpi5": OPEN_MPI}
# On two hosts, a rank that dies without a message is hard to recognise: Open MPI may report only the rank that lost its peer, MPICH only
# the number of the signal, as if it were an exit code, and Intel MPI nothing.
ON_ONE_HOST = {mpi: command.replace("-ppn 1 ", "").replace("n1,n2", "n1:2" if mpi.startswith("openmpi") else "n1") for mpi, command in COMMANDS.items()}


def failing(id, name, how, mpis="openmpi4 openmpi5 mpich intel", commands=COMMANDS, **more):
    return [Recipe(id, f"{name} ({mpi})", f"{commands[mpi]} PROGRAM {how}", mpi=mpi, **more) for mpi in mpis.split()]


def under_muster(id, name, mpi, words, **more):
    return Recipe(id, f"{name} (muster run, {mpi})", f"muster run --force -H n1,n2 -- {words}", mpi=mpi, **more)


RECIPES = [
    *failing("program-segfault", "a rank that uses an invalid address", "crash", commands=ON_ONE_HOST),
    *failing("worker-sigkill", "a rank that is killed", "killed", "openmpi4 openmpi5", ON_ONE_HOST, follows=("ompi-rank-died",)),
    *failing("worker-sigkill", "a rank that is killed", "killed", "mpich", ON_ONE_HOST, follows=("hydra-bad-termination",)),
    *failing("mixed-cpu-isa", "an instruction that the CPU does not have", "illegal", commands=ON_ONE_HOST),
    *failing("mpi-message-truncated", "a message that is longer than its buffer", "too-long"),
    *failing("mpi-call-invalid", "a barrier of no communicator", "no-communicator"),
    under_muster("program-segfault", "a rank that uses an invalid address", "openmpi5", "PROGRAM crash"),
    under_muster("worker-sigkill", "a rank that is killed", "openmpi5", "PROGRAM killed"),
    under_muster("worker-sigkill", "a rank that is killed", "mpich", "PROGRAM killed"),
    under_muster("mpi-call-invalid", "a barrier of no communicator", "openmpi4", "PROGRAM no-communicator"),
    under_muster("mpi-call-invalid", "a barrier of no communicator", "mpich", "PROGRAM no-communicator", hosts=("n2",), ranks=(1,)),
    under_muster("mpi-message-truncated", "a message that is longer than its buffer", "mpich", "PROGRAM too-long", hosts=("n2",), ranks=(1,), explains="RUN"),
    under_muster("remote-exe-not-found", "a program that is nowhere", "mpich", "./train", says="train was not found on n[12]"),
    *failing("mpi-abort-called", "a rank that calls MPI_Abort", "abort 3", "openmpi5 mpich intel"),
    *failing("ompi-rank-exited", "a rank that exits with a code", "exit 3", "openmpi4 openmpi5"),
    *failing("ompi-rank-exited", "a rank that leaves without MPI_Finalize", "exit 0", "openmpi4 openmpi5"),
    *failing("hydra-bad-termination", "a rank that exits with a code", "exit 3", "intel", ON_ONE_HOST),
]
