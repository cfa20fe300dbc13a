"""Does the same as `muster-train mnist`, in Python: torch.distributed over Gloo, DistributedDataParallel, the same seeds and samples.
Runs under torchrun, or with RANK set.

usage: mnist_twin.py DATASET EPOCHS BATCH STEPS
Rank 0 prints "STEP LOSS" for each step, the mean over the ranks, with nine digits.
"""
import math
import struct
import sys
from pathlib import Path

import numpy
import torch
import torch.distributed as dist
import torch.distributed.nn  # before init_process_group, as in examples/python/resnet.py
import torch.nn as nn
import torch.nn.functional as F

SEED, LR, WARMUP_EPOCHS = 1, 0.1, 0.2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.fc1, self.fc2 = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, images):
        x = F.relu(self.conv2(F.relu(self.conv1(images))))
        x = F.dropout(F.max_pool2d(x, 2), 0.25, self.training).flatten(1)
        return self.fc2(F.dropout(F.relu(self.fc1(x)), 0.5, self.training))


def read(folder):
    images = (Path(folder) / "train-images-idx3-ubyte").read_bytes()
    labels = (Path(folder) / "train-labels-idx1-ubyte").read_bytes()
    count = struct.unpack(">I", images[4:8])[0]
    pixels = numpy.frombuffer(images[16:], numpy.uint8).reshape(count, 1, 28, 28).astype(numpy.float32)
    pixels = (pixels / numpy.float32(255) - numpy.float32(0.1307)) / numpy.float32(0.3081)
    return torch.from_numpy(pixels), torch.from_numpy(numpy.frombuffer(labels[8:], numpy.uint8).astype(numpy.int64))


def learning_rate(step, steps, warmup, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    done = min(1.0, (step - warmup) / max(1, steps - warmup))
    return peak * 0.5 * (1.0 + math.cos(math.pi * done))


def batches(count, batch, epochs, rank, ranks):
    """Yields this rank's samples of each step: DistributedSampler's order, cut into global batches."""
    for epoch in range(epochs):
        order = torch.randperm(count, generator=torch.Generator().manual_seed(SEED + epoch)).tolist()
        for first in range(0, count, batch):
            yield [order[(first + i) % count] for i in range(rank, batch, ranks)]


def train(folder, epochs, batch, wanted):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    images, labels = read(folder)
    torch.manual_seed(SEED)
    model = nn.parallel.DistributedDataParallel(Net(), gradient_as_bucket_view=True)
    torch.manual_seed(SEED + 1000003 * (rank + 1))
    a_epoch = -(-len(labels) // batch)
    peak, warmup = LR * (batch / 256), round(WARMUP_EPOCHS * a_epoch)
    optimizer = torch.optim.SGD(model.parameters(), peak, momentum=0.9)
    for step, samples in enumerate(batches(len(labels), batch, epochs, rank, ranks)):
        if step == wanted:
            break
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images[samples]), labels[samples])
        weight = len(samples) * ranks / batch
        if weight != 1:
            loss = loss * weight
        loss.backward()
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, epochs * a_epoch, warmup, peak)
        optimizer.step()
        mean = loss.detach().reshape(1)
        dist.all_reduce(mean)
        mean /= ranks
        if rank == 0:
            print(f"{step + 1} {mean.item():.9g}", flush=True)


def main():
    folder, epochs, batch, wanted = sys.argv[1], *map(int, sys.argv[2:])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    train(folder, epochs, batch, wanted)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
