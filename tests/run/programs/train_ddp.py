"""Trains a linear model with DistributedDataParallel: an ordinary script that does not use muster.

The data are those of linear_model.hpp. The loss is multiplied by the number of ranks, so that DDP's mean of the gradients equals their sum
for the plain loss.
"""
import os
import socket

import torch
import torch.distributed.nn  # before init_process_group, as in examples/python/resnet.py
from torch.nn.parallel import DistributedDataParallel

STEPS, SAMPLES, RATE = 5, 4, 1 / 64
TRUTH = torch.tensor([[1.0], [-2.0], [3.0]], dtype=torch.float64)


def data(rank):
    rows = [[(7 * rank + 3 * i + 5 * j * j + i * j) % 5 - 2 for j in range(3)] for i in range(SAMPLES)]
    x = torch.tensor(rows, dtype=torch.float64)
    return x, x @ TRUTH


def train():
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    layer = torch.nn.Linear(3, 1, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(layer.weight)
    model = DistributedDataParallel(layer)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    x, y = data(rank)
    for _ in range(STEPS):
        optimizer.zero_grad()
        (ranks * ((model(x) - y) ** 2).sum() / 2).backward()
        optimizer.step()
    weights = " ".join(f"{weight:.9f}" for weight in layer.weight.flatten().tolist())
    print(f"rank {rank} of {ranks} on {socket.gethostname()} local {os.environ['LOCAL_RANK']} weights {weights}", flush=True)


def main():
    torch.distributed.init_process_group("gloo")
    train()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
