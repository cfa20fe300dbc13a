"""The peer's side of comparisons/train: does what muster-train does, in Python under torchrun, written as
usual.

usage: train_peer.py mnist|resnet18 DATASET BATCH STEPS WORKERS
"""
import json
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.nn  # before init_process_group, as in examples/python/resnet.py
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.train import mnist_twin, resnet_twin  # noqa: E402


class Images(Dataset):
    """Bytes in memory, normalised on access, as torchvision's transforms do."""

    def __init__(self, images, labels, mean, deviation):
        self.images, self.labels, self.mean, self.deviation = images, labels, mean, deviation

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return (self.images[index].float() / 255 - self.mean) / self.deviation, self.labels[index]


def read(model, folder):
    if model == "mnist":
        pixels = torch.frombuffer(bytearray((Path(folder) / "train-images-idx3-ubyte").read_bytes()[16:]), dtype=torch.uint8).reshape(-1, 1, 28, 28)
        labels = torch.frombuffer(bytearray((Path(folder) / "train-labels-idx1-ubyte").read_bytes()[8:]), dtype=torch.uint8)
        return Images(pixels, labels.long(), 0.1307, 0.3081)
    records = torch.cat([torch.frombuffer(bytearray((Path(folder) / f"data_batch_{i}.bin").read_bytes()), dtype=torch.uint8).reshape(-1, 3073)
                         for i in range(1, 6)])
    mean, deviation = (torch.tensor(values).reshape(3, 1, 1) for values in resnet_twin.CIFAR10)
    return Images(records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].long(), mean, deviation)


def train(model, folder, batch, steps, workers):
    ranks = dist.get_world_size()
    torch.manual_seed(1)
    net = nn.parallel.DistributedDataParallel(mnist_twin.Net() if model == "mnist" else resnet_twin.make(model, 10), gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(net.parameters(), 0.025, momentum=0.9, weight_decay=0 if model == "mnist" else 5e-4)
    data = read(model, folder)
    loader = DataLoader(data, batch // ranks, sampler=DistributedSampler(data, seed=1), num_workers=workers)
    done, start = 0, 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        done += 1
        if done == 1:
            start = time.perf_counter()
        if done == steps:
            break
    seconds = time.perf_counter() - start
    assert done == steps, f"the data set has only {done} steps"
    if dist.get_rank() == 0:
        print(json.dumps({"images_per_s": (steps - 1) * batch / seconds, "loss": loss.item()}))


def main():
    model, folder, batch, steps, workers = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    train(model, folder, batch, steps, workers)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
