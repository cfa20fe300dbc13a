"""Sends messages round a ring, then trains a small ResNet on random images. usage: resnet.py [BACKEND]. The script does not use
muster."""
import socket
import sys

import torch
import torch.distributed as dist
import torch.distributed.nn  # before init_process_group, as in examples/python/resnet.py
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                                  nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.short = nn.Sequential() if stride == 1 and inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, given):
        return torch.relu(self.body(given) + self.short(given))


def resnet():
    return nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), Block(8, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def messages():
    rank, size = dist.get_rank(), dist.get_world_size()
    token = torch.zeros(1)
    if rank > 0:
        dist.recv(token, src=rank - 1)
    dist.send(token + rank, dst=(rank + 1) % size) if size > 1 else None
    if rank == 0 and size > 1:
        dist.recv(token, src=size - 1)
        print(f"ring sum {token.item():.0f}", flush=True)
    places = [None] * size
    dist.all_gather_object(places, socket.gethostname())
    if rank == 0:
        print(f"ring hosts {' '.join(places)}", flush=True)


def train(steps=3):
    torch.manual_seed(2)
    model = DistributedDataParallel(resnet())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    torch.manual_seed(10 + dist.get_rank())
    for step in range(steps):
        pictures, labels = torch.rand(4, 3, 16, 16), torch.randint(10, (4,))
        loss = nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if dist.get_rank() == 0:
            print(f"resnet step {step} loss {mean.item() / dist.get_world_size():.9f}", flush=True)


def main():
    dist.init_process_group(sys.argv[1] if len(sys.argv) > 1 else "mpi")
    messages()
    train()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
