"""One rank of comparisons/watched: an MLP with DistributedDataParallel. Silent; at the end rank 0 prints "STEPS_PER_SECOND X".

usage: watched.py mpi|gloo SECONDS
"""
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

WARM_UP = 3  # seconds; muster first looks at a run after 2 s of silence


def main():
    backend, seconds = sys.argv[1], float(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group(backend)
    torch.manual_seed(1)
    layers = [torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    torch.manual_seed(100 + dist.get_rank())
    given, wanted = torch.randn(32, 128), torch.randint(10, (32,))

    def train(steps):
        dist.barrier()
        start = time.perf_counter()
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(given), wanted).backward()
            optimizer.step()
        return steps / (time.perf_counter() - start)

    # Both ranks must make the same number of steps, so rank 0 chooses it.
    speed, end = torch.tensor([train(20)]), time.monotonic() + WARM_UP
    going = torch.ones(1)
    while going.item():
        speed.fill_(train(50))
        going.fill_(float(time.monotonic() < end))
        dist.broadcast(going, 0)
    dist.broadcast(speed, 0)
    measured = train(max(1, round(speed.item() * seconds)))
    if dist.get_rank() == 0:
        print(f"STEPS_PER_SECOND {measured:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


main()
