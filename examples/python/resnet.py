"""Trains a ResNet-20 (He et al. 2015, section 4.2) on CIFAR-10 with DistributedDataParallel.

    muster run -n 2 resnet.py --steps 20
    muster run -H node1,node2 resnet.py --data ~/cifar-10-batches-bin --epochs 30

--data DIR names a directory with CIFAR-10's binary version (data_batch_1.bin to data_batch_5.bin, test_batch.bin) on every host.
Without it, the script makes up ten kinds of noisy images, so that it runs anywhere. The accuracy on these says nothing about CIFAR-10.
"""
import argparse
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed.nn  # before init_process_group: imported later, it keeps the group's threads alive, and a rank can abort when Python exits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def stop(reason):
    sys.exit(f"resnet.py: {reason}")


def say(text):
    if dist.get_rank() == 0:  # one line for the job, not one per rank
        print(text, flush=True)


def join_job():
    """Connects to the other ranks and returns this rank's device. The launcher sets RANK, WORLD_SIZE, LOCAL_RANK and MASTER_ADDR."""
    if "RANK" not in os.environ:
        stop("RANK is not set; use a launcher: muster run -n 2 resnet.py")
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group(backend="nccl" if torch.cuda.is_available() else "gloo", init_method="env://")
    return device


class Block(nn.Module):
    """Two convolutions, and a shortcut around them."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                                  nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut = nn.Identity() if stride == 1 else nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, images):
        return torch.relu(self.body(images) + self.shortcut(images))


def resnet20():
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    for inputs, outputs, stride in ((16, 16, 1), (16, 32, 2), (32, 64, 2)):
        layers += [Block(inputs, outputs, stride), Block(outputs, outputs, 1), Block(outputs, outputs, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def read_cifar10(folder, *names):
    """Reads CIFAR-10's binary files. Each record is a label byte and 3x32x32 bytes of colour."""
    content = bytearray()
    try:
        for name in names:
            with open(f"{folder}/{name}.bin", "rb") as file:
                content += file.read()
    except OSError as error:
        stop(f"cannot read the data: {error}")
    if not content or len(content) % 3073:
        stop(f"cannot read the data: {folder} has files that are damaged or not of CIFAR-10's binary version")
    records = torch.frombuffer(content, dtype=torch.uint8).reshape(-1, 3073)
    return TensorDataset(records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].long())


def make_images(count, seed):
    """Returns made-up images: ten fixed patterns of 32x32 pixels, one per class, with noise added. Every rank makes the same images."""
    patterns = torch.randint(256, (10, 3, 4, 4), generator=torch.Generator().manual_seed(0)).repeat_interleave(8, 2).repeat_interleave(8, 3)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (count,), generator=generator)
    noise = 64 * torch.randn(count, 3, 32, 32, generator=generator)
    return TensorDataset((patterns[labels] + noise).clamp(0, 255).byte(), labels)


def normalise(images, device):
    return images.to(device).float() / 128 - 1


@torch.no_grad()
def accuracy(net, data, device):
    """Tests this rank's part of the images, and returns the accuracy over the parts of all ranks."""
    net.eval()
    images, labels = (tensor[dist.get_rank()::dist.get_world_size()] for tensor in data.tensors)
    correct = torch.zeros(1, device=device)
    for some, wanted in zip(images.split(250), labels.split(250)):
        correct += (net(normalise(some, device)).argmax(1) == wanted.to(device)).sum()
    net.train()
    dist.all_reduce(correct)
    return correct.item() / len(data)


def learn(options, train, test, device):
    torch.manual_seed(0)
    net = resnet20().to(device)
    model = DistributedDataParallel(net, device_ids=[device] if device.type == "cuda" else None)
    sampler = DistributedSampler(train)  # gives each rank its own part of the images
    batches = DataLoader(train, options.batch_size, sampler=sampler)
    steps = min(options.steps, options.epochs * len(batches))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)

    step, begin = 0, time.perf_counter()
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)  # shuffles differently in each epoch
        for images, labels in batches:
            if step == steps:
                break
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(normalise(images, device)), labels.to(device))
            loss.backward()  # averages the gradients over the ranks
            optimizer.step()
            schedule.step()
            step += 1
            if step % 10 == 0 or step == steps:
                rate = step * options.batch_size * dist.get_world_size() / (time.perf_counter() - begin)
                say(f"step {step} of {steps}: loss {loss.item():.4f} on rank 0, {rate:.0f} images/s on all ranks")
    correct = accuracy(net, test, device)
    say(f"accuracy {correct:.1%} on {len(test)} test images")


def main():
    parser = argparse.ArgumentParser(description="Trains a ResNet-20 on CIFAR-10 with DistributedDataParallel.")
    parser.add_argument("--data", metavar="DIR", help="directory with CIFAR-10's binary version (default: made-up images)")
    parser.add_argument("--epochs", type=int, default=1, help="default: 1")
    parser.add_argument("--steps", type=int, default=sys.maxsize, help="stop after this many steps (default: when the epochs are over)")
    parser.add_argument("--batch-size", type=int, default=32, help="images per rank and step (default: 32)")
    options = parser.parse_args()

    train = read_cifar10(options.data, *(f"data_batch_{i}" for i in range(1, 6))) if options.data else make_images(2000, 1)
    test = read_cifar10(options.data, "test_batch") if options.data else make_images(200, 2)
    device = join_job()
    say(f"{len(train)} images from {options.data}" if options.data else f"{len(train)} made-up images (for CIFAR-10: --data DIR)")
    learn(options, train, test, device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
