"""Trains a small network on MNIST with DistributedDataParallel, and resumes from its checkpoint when it is started again.

    muster run -n 2 mnist_ddp.py --checkpoint mnist.pt
    muster run -H node1,node2 --max-restarts 3 mnist_ddp.py --data ~/MNIST/raw --checkpoint mnist.pt

--data DIR names a directory with MNIST's four unpacked files (train-images-idx3-ubyte and so on) on every host. Without it, the
script makes up ten kinds of noisy images, so that it runs anywhere. The accuracy on these says nothing about MNIST.
"""
import argparse
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.nn  # before init_process_group: imported later, it keeps the group's threads alive, and a rank can abort when Python exits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def stop(reason):
    sys.exit(f"mnist_ddp.py: {reason}")


def say(text):
    if dist.get_rank() == 0:  # one line for the job, not one per rank
        print(text, flush=True)


def join_job():
    """Connects to the other ranks and returns this rank's device. The launcher sets RANK, WORLD_SIZE, LOCAL_RANK and MASTER_ADDR."""
    if "RANK" not in os.environ:
        stop("RANK is not set; use a launcher: muster run -n 2 mnist_ddp.py")
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group(backend="nccl" if torch.cuda.is_available() else "gloo", init_method="env://")
    return device


def read_idx(path, dimensions):
    """Reads an IDX file: a magic number, the size of each dimension (4 bytes each), then one byte per value."""
    try:
        with open(path, "rb") as file:
            magic, *shape = (int.from_bytes(file.read(4), "big") for _ in range(1 + dimensions))
            values = bytearray(file.read())
    except OSError as error:
        stop(f"cannot read the data: {error}")
    if magic != 0x800 + dimensions or not values or len(values) != torch.Size(shape).numel():
        stop(f"cannot read the data: {path} is damaged or not an unpacked IDX file")
    return torch.frombuffer(values, dtype=torch.uint8).reshape(shape)


def read_mnist(folder, part):
    images, labels = read_idx(f"{folder}/{part}-images-idx3-ubyte", 3), read_idx(f"{folder}/{part}-labels-idx1-ubyte", 1)
    return TensorDataset(images.unsqueeze(1) / 255, labels.long())


def make_images(count, seed):
    """Returns made-up images: ten fixed patterns of 28x28 pixels, one per class, with noise added. Every rank makes the same images."""
    patterns = torch.rand(10, 1, 7, 7, generator=torch.Generator().manual_seed(0)).repeat_interleave(4, 2).repeat_interleave(4, 3)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (count,), generator=generator)
    return TensorDataset(patterns[labels] + torch.randn(count, 1, 28, 28, generator=generator), labels)


def save(path, state):
    """Writes a new file and then renames it, so that a crash at any moment leaves a complete checkpoint."""
    try:
        with open(path + ".new", "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".new", path)
    except OSError as error:
        stop(f"cannot save the checkpoint: {error}")


def load(path):
    """Returns the checkpoint, or None. Rank 0 reads it and sends it to the others, so only rank 0's host needs the file."""
    state = [None]
    if dist.get_rank() == 0 and path and os.path.exists(path):
        try:
            state = [torch.load(path, map_location="cpu", weights_only=True)]
        except Exception as error:  # torch.load raises many types
            stop(f"cannot read the checkpoint {path} (delete it to start over): {error}")
    dist.broadcast_object_list(state, src=0)
    return state[0]


def train_epoch(model, optimizer, batches, device):
    """Returns the mean loss over all ranks."""
    total = torch.zeros(1, device=device)
    for images, labels in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
        loss.backward()  # averages the gradients over the ranks
        optimizer.step()
        total += loss.detach()
    dist.all_reduce(total)
    return total.item() / len(batches) / dist.get_world_size()


@torch.no_grad()
def accuracy(net, data, device):
    """Tests this rank's part of the images, and returns the accuracy over the parts of all ranks."""
    images, labels = (tensor[dist.get_rank()::dist.get_world_size()].to(device) for tensor in data.tensors)
    correct = (net(images).argmax(1) == labels).sum()
    dist.all_reduce(correct)
    return correct.item() / len(data)


def learn(options, train, test, device):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(1152, 10)).to(device)
    model = DistributedDataParallel(net, device_ids=[device] if device.type == "cuda" else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    sampler = DistributedSampler(train)  # gives each rank its own part of the images
    batches = DataLoader(train, options.batch_size, sampler=sampler)

    epochs_done, state = 0, load(options.checkpoint)
    if state:
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        epochs_done = state["epochs_done"]
        say(f"resuming after epoch {epochs_done} of {options.epochs}")
    for epoch in range(epochs_done, options.epochs):
        sampler.set_epoch(epoch)  # shuffles differently in each epoch, and the same way after a restart
        loss = train_epoch(model, optimizer, batches, device)
        correct = accuracy(net, test, device)
        say(f"epoch {epoch + 1} of {options.epochs}: loss {loss:.6f}, accuracy {correct:.1%}")
        if options.checkpoint and dist.get_rank() == 0:
            save(options.checkpoint, {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epochs_done": epoch + 1})
    dist.barrier()  # no rank succeeds before rank 0 has saved the last checkpoint; if rank 0 dies before, all ranks fail and can be restarted


def main():
    parser = argparse.ArgumentParser(description="Trains a small network on MNIST with DistributedDataParallel.")
    parser.add_argument("--data", metavar="DIR", help="directory with MNIST's unpacked files (default: made-up images)")
    parser.add_argument("--epochs", type=int, default=3, help="default: 3")
    parser.add_argument("--batch-size", type=int, default=64, help="images per rank and step (default: 64)")
    parser.add_argument("--checkpoint", metavar="FILE", help="save here after each epoch, and resume from here")
    options = parser.parse_args()

    train, test = [read_mnist(options.data, part) for part in ("train", "t10k")] if options.data else [make_images(4000, 1), make_images(1000, 2)]
    device = join_job()
    say(f"{len(train)} images from {options.data}" if options.data else f"{len(train)} made-up images (for MNIST: --data DIR)")
    learn(options, train, test, device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
