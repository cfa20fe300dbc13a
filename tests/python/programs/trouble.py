"""Faults that the other ranks must survive, and jobs that must succeed, over "mpi". usage:
trouble.py FAULT."""
import os
import resource
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

TIMEOUT = timedelta(seconds=60)
SHORT = timedelta(seconds=12)  # time-out if a rank is missing


def say(text):
    print(f"rank {dist.get_rank()}: {text}", flush=True)


def all_reduce():
    tensor = torch.full((1024,), 1.0)
    dist.all_reduce(tensor)
    assert tensor.eq(dist.get_world_size()).all()


def survive(act):
    """Rank 1 makes the fault. The others wait for it and print the error that they get."""
    dist.init_process_group("mpi", timeout=SHORT)
    all_reduce()
    if dist.get_rank() == 1:
        act()
    work = dist.all_reduce(torch.ones(1024), async_op=True)
    began = time.monotonic()
    try:
        work.wait()
    except RuntimeError as error:
        say(f"after {time.monotonic() - began:.1f} s: {type(error).__name__}: {str(error).splitlines()[0]}")
        sys.exit(3)
    say("nobody was missed")


def stopped():
    survive(lambda: os.kill(os.getpid(), signal.SIGSTOP))


def killed():
    survive(lambda: os.kill(os.getpid(), signal.SIGKILL))


def late():
    def sleep():
        time.sleep(1000)  # the others have left long ago, and the test ends this process
        sys.exit(0)

    survive(sleep)


def raises():
    """Rank 1 fails in its own code while the others wait for it with the default time-out of half
    an hour."""
    dist.init_process_group("mpi")
    all_reduce()
    if dist.get_rank() == 1:
        raise ValueError("a bug of the script's own")
    all_reduce()


def forks():
    """A child process that calls exit() must neither end nor use MPI."""
    dist.init_process_group("mpi", timeout=TIMEOUT)
    group = dist.new_group()
    all_reduce()
    child = os.fork()
    if child == 0:
        try:
            dist.all_reduce(torch.ones(1), group=group)
        except RuntimeError as error:
            sys.exit(7 if "was forked" in str(error) else 8)
        sys.exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    all_reduce()
    dist.destroy_process_group()
    print("good", flush=True)


def never_destroyed():
    dist.init_process_group("mpi", timeout=TIMEOUT)
    all_reduce()
    print("good", flush=True)


def begin_with_gloo(port, backwards=False):
    """Initialises Gloo with MPI's rank and size, or with the ranks in reverse order."""
    rank, size = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=size - 1 - rank if backwards else rank, world_size=size, timeout=TIMEOUT)
    return rank, size


def beside_gloo():
    """Makes a group over MPI in a job whose default backend is Gloo."""
    _, size = begin_with_gloo(29512)
    group = dist.new_group(backend="mpi")
    tensor = torch.ones(3)
    dist.all_reduce(tensor, group=group)
    assert dist.get_backend(group) == "mpi" and tensor.eq(size).all()
    print("good", flush=True)


def other_numbers():
    rank, size = begin_with_gloo(29513, backwards=True)
    try:
        dist.new_group(backend="mpi")
    except RuntimeError as error:
        print("good" if f"according to MPI this is rank {rank} of {size}" in str(error) else error, flush=True)


def by_device():
    """Names the backend in the other possible way, by device. PyTorch then uses a store and a
    rendezvous."""
    rank, size = os.environ["OMPI_COMM_WORLD_RANK"], os.environ["OMPI_COMM_WORLD_SIZE"]
    os.environ.update(RANK=rank, WORLD_SIZE=size, MASTER_ADDR="127.0.0.1", MASTER_PORT="29514")
    dist.init_process_group("cpu:mpi", timeout=TIMEOUT)
    all_reduce()
    print("good", flush=True)


def first_group_of_some():
    """MPI is initialised on all ranks, although only some are in the group."""
    rank, _ = begin_with_gloo(29515)
    group = dist.new_group([1], backend="mpi")
    if rank == 1:
        dist.all_reduce(torch.ones(1), group=group)
    print("good", flush=True)


def not_waited_for():
    """The script ends before the operation does. The operation's callback, which is Python code,
    must still be called."""
    dist.init_process_group("mpi", timeout=TIMEOUT)
    dist.all_reduce(torch.ones(1 << 20), async_op=True).get_future().then(lambda done: print("good", flush=True))


def refused_groups():
    """Checks that PyTorch refuses the two kinds of groups that docs/python.md names."""
    dist.init_process_group("mpi", timeout=TIMEOUT)
    told = []
    for options in ({"backend": "gloo"}, {"ranks": [0, 1], "use_local_synchronization": True}):
        try:
            dist.new_group(**options)
        except (RuntimeError, ValueError) as error:
            told.append(str(error))
    assert len(told) == 2 and "use_local_synchronization" in told[1], told
    print("good", flush=True)


def usage():
    """Returns the kilobytes and open files of this process."""
    return resource_now("VmRSS"), len(os.listdir("/proc/self/fd"))


def resource_now(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))


def cycle(number):
    """Makes, uses and destroys a group of all ranks, one of some, and one that is split off."""
    size = dist.get_world_size()
    for group in (dist.new_group(), dist.new_group([0, size - 1]), dist.split_group(split_ranks=[list(range(size))])):
        if group is not None and group != dist.GroupMember.NON_GROUP_MEMBER:
            dist.all_reduce(torch.ones(16), group=group)
            dist.destroy_process_group(group)
    if number % 50 == 49:  # the default group too
        dist.destroy_process_group()
        dist.init_process_group("mpi", timeout=TIMEOUT)


def cycles():
    count = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    dist.init_process_group("mpi", timeout=TIMEOUT)
    for number in range(100):  # so that everything that is created only once exists
        cycle(number)
    memory, files = usage()
    for number in range(count):
        cycle(number)
    say(f"grew by {usage()[0] - memory} kB and {usage()[1] - files} files")
    dist.destroy_process_group()


def with_mpi4py(first):
    if first:
        from mpi4py import MPI
    dist.init_process_group("mpi", timeout=TIMEOUT)
    all_reduce()
    if not first:
        from mpi4py import MPI
    world = MPI.COMM_WORLD
    assert (world.rank, world.size) == (dist.get_rank(), dist.get_world_size())
    for number in range(100):
        work = dist.all_reduce(torch.ones(1000), async_op=True)
        assert world.allreduce(number) == number * world.size
        work.wait()
    dist.destroy_process_group()
    assert world.allreduce(1) == world.size
    print("good", flush=True)


def mpi4py_first():
    with_mpi4py(True)


def mpi4py_second():
    with_mpi4py(False)


def mpi4py_single():
    """The program initialises MPI for a single thread, so the backend cannot be used and must
    report that."""
    import mpi4py

    mpi4py.rc.thread_level = "single"
    from mpi4py import MPI  # noqa: F401

    try:
        dist.init_process_group("mpi")
    except RuntimeError as error:
        print(str(error).splitlines()[0], flush=True)


globals()[sys.argv[1]]()
