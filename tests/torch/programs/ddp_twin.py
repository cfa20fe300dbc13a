"""Does the same as ddp_twin.cpp, with Python's own DistributedDataParallel.

usage: ddp_twin.py FOLDER SIZE ...: for each SIZE, the first SIZE ranks of the job train in
FOLDER/SIZE.
"""
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.nn  # before init_process_group, as in examples/python/resnet.py
import torch.nn as nn
import torch.nn.functional as F

STEPS, BATCH = 50, 8


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(16)
        self.out = nn.Linear(16 * 4 * 4, 10)

    def forward(self, input, step):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(input))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return self.out(x.flatten(1))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden1 = nn.Linear(256, 512)
        self.hidden2 = nn.Linear(512, 512)
        self.out = nn.Linear(512, 10)

    def forward(self, input, step):
        return self.out(F.relu(self.hidden2(F.relu(self.hidden1(input.flatten(1))))))


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(256, 32)
        self.left = nn.Linear(32, 32)
        self.right = nn.Linear(32, 32)
        self.never = nn.Linear(32, 32)
        self.out = nn.Linear(32, 10)

    def forward(self, input, step):
        x = F.relu(self.first(input.flatten(1)))
        return self.out(torch.tanh(self.left(x) if step % 3 == 0 else self.right(x)))


def write(file, tensor):
    file.write(bytes(tensor.detach().contiguous().view(-1).view(torch.uint8).tolist()))


def train(name, make, folder, group, **options):
    rank = dist.get_rank()
    torch.manual_seed(1 + rank)
    model = nn.parallel.DistributedDataParallel(make(), process_group=group, **options)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, weight_decay=1e-4)
    torch.manual_seed(100 + rank)
    with open(f"{folder}/{name}.{rank}", "wb") as file:
        for step in range(STEPS):
            input, target = torch.randn(BATCH, 1, 16, 16), torch.randint(10, (BATCH,))
            optimizer.zero_grad()
            loss = F.cross_entropy(model(input, step), target)
            loss.backward()
            optimizer.step()
            write(file, loss)
        for tensor in [*model.parameters(), *model.buffers()]:
            write(file, tensor)


def train_all(folder, size):
    group = dist.new_group(range(size))
    if dist.get_rank() < size:
        os.makedirs(folder, exist_ok=True)
        train("cnn", Cnn, folder, group)
        train("mlp", Mlp, folder, group, bucket_cap_mb=1)
        train("branches", Branches, folder, group, find_unused_parameters=True)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for size in map(int, sys.argv[2:]):
        train_all(f"{sys.argv[1]}/{size}", size)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
