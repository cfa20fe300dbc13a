"""One rank of comparisons/python_backends: the same operations through the "mpi" backend, through Gloo and through bare mpi4py, in turns.

usage: python_backends.py SAMPLES SIZE...; rank 0 prints "OPERATION SIZE SIDE SECONDS" lines. Started by an mpirun with MASTER_ADDR and MASTER_PORT set.
"""
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parent))
from ddp_steps import ResNet18  # noqa: E402

dist.init_process_group("mpi", timeout=timedelta(seconds=120))
# Imported only now, because the library that initialises MPI chooses MPI's settings (docs/libmuster.md), and here the backend must do so.
from mpi4py import MPI  # noqa: E402

SIDES = ("mpi", "gloo", "mpi4py")


def gloo_group():
    """Makes a Gloo group. It needs its own store, because the default group over MPI has none."""
    rank, size = dist.get_rank(), dist.get_world_size()
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), size, rank == 0, timeout=timedelta(seconds=60))
    backend = dist.ProcessGroupGloo(dist.PrefixStore("gloo", store), rank, size, timedelta(seconds=120))
    group = dist.ProcessGroup(store, rank, size)
    group._set_default_backend(dist.ProcessGroup.BackendType.GLOO)
    group._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, backend)
    group._set_group_name("gloo")
    ranks = {each: each for each in range(size)}
    dist.distributed_c10d._register_pg_in_world(group, backend_name="gloo", store=store, group_name="gloo", backend_config="cpu:gloo", rank_mapping=ranks)
    return group


class Operations:
    """The operations to measure. The size of an operation is that of its larger tensor."""

    def __init__(self, gloo):
        self.groups = {"mpi": dist.group.WORLD, "gloo": gloo}
        self.world, self.size = MPI.COMM_WORLD, dist.get_world_size()

    def prepare(self, name, count):
        """Returns {side: a function that runs the operation once}."""
        ranks = self.size
        whole, part = torch.ones(max(count, ranks)), torch.ones(max(count // ranks, 1))
        other = torch.empty_like(whole)
        world = self.world
        if name == "allreduce":
            tensor = torch.ones(count)
            bare = lambda: world.Allreduce(MPI.IN_PLACE, tensor.numpy(), MPI.SUM)  # noqa: E731
            ours = lambda group: dist.all_reduce(tensor, group=group)  # noqa: E731
        elif name == "allgather":
            bare = lambda: world.Allgather(part.numpy(), whole.numpy())  # noqa: E731
            ours = lambda group: dist.all_gather_into_tensor(whole, part, group=group)  # noqa: E731
        elif name == "reducescatter":
            bare = lambda: world.Reduce_scatter_block(whole.numpy(), part.numpy(), MPI.SUM)  # noqa: E731
            ours = lambda group: dist.reduce_scatter_tensor(part, whole, group=group)  # noqa: E731
        else:
            bare = lambda: world.Alltoall(whole.numpy(), other.numpy())  # noqa: E731
            ours = lambda group: dist.all_to_all_single(other, whole, group=group)  # noqa: E731
        return {"mpi": lambda: ours(self.groups["mpi"]), "gloo": lambda: ours(self.groups["gloo"]), "mpi4py": bare}


def measure(run, repeats):
    """Returns the mean seconds per call on the slowest rank."""
    MPI.COMM_WORLD.Barrier()
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    return MPI.COMM_WORLD.allreduce((time.perf_counter() - start) / repeats, MPI.MAX)


def collectives(operations, samples, sizes):
    for name in ("allreduce", "allgather", "reducescatter", "alltoall"):
        for size in sizes:
            runs = operations.prepare(name, size // 4)
            repeats = max(1, min(200, (1 << 24) // size))
            for side in SIDES:
                runs[side]()  # sets up connections and buffers
            for number in range(samples if size < 1 << 27 else max(5, samples // 3)):
                for side in SIDES[number % 3:] + SIDES[:number % 3]:
                    seconds = measure(runs[side], repeats)
                    if dist.get_rank() == 0:
                        print(f"{name} {size} {side} {seconds:.9f}", flush=True)


def by_hand(model):
    """Returns a function that averages the gradients in one buffer after the backward pass, as a script with mpi4py does without a backend."""
    parameters = list(model.parameters())
    flat = torch.empty(sum(p.numel() for p in parameters))
    views = [part.view_as(p) for part, p in zip(flat.split([p.numel() for p in parameters]), parameters, strict=True)]

    def reduce():
        for view, parameter in zip(views, parameters, strict=True):
            view.copy_(parameter.grad)
        MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, flat.numpy(), MPI.SUM)
        flat.div_(dist.get_world_size())
        for view, parameter in zip(views, parameters, strict=True):
            parameter.grad.copy_(view)

    return reduce


def resnet_steps(operations, samples):
    given, wanted = torch.rand(4, 3, 64, 64), torch.randint(10, (4,))
    models = {}
    for side in SIDES:
        torch.manual_seed(0)
        model = ResNet18(10)
        wrapped = model if side == "mpi4py" else DistributedDataParallel(model, process_group=operations.groups[side])
        models[side] = (wrapped, torch.optim.SGD(wrapped.parameters(), lr=0.01), by_hand(model) if side == "mpi4py" else lambda: None)

    def step(side):
        model, optimizer, reduce = models[side]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(given), wanted).backward()
        reduce()
        optimizer.step()

    for side in SIDES:
        for _ in range(2):
            step(side)
    for number in range(samples):
        for side in SIDES[number % 3:] + SIDES[:number % 3]:
            seconds = measure(lambda: step(side), 2)
            if dist.get_rank() == 0:
                print(f"resnet18-step 0 {side} {seconds:.9f}", flush=True)


def main():
    samples, sizes = int(sys.argv[1]), [int(word) for word in sys.argv[2:]]
    torch.set_num_threads(1)
    operations = Operations(gloo_group())
    collectives(operations, samples, sizes)
    resnet_steps(operations, samples)
    dist.barrier()


main()
