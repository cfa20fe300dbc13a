"""Trains on images that a DataLoader or a background thread prepares.

    muster run -n 2 train_images.py --backend gloo --workers 2
"""
import argparse
import os
import queue
import signal
import tempfile
import threading

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default=os.environ.get("BACKEND", "gloo"))
    parser.add_argument("--reader", choices=["workers", "thread", "cache"], default="workers")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--images", type=int, default=400)
    parser.add_argument("--camera", default="", help="RANK:IMAGE that comes from a named pipe of the camera server")
    parser.add_argument("--damaged", default="", help="RANK:IMAGE that cannot be decoded")
    return parser.parse_args()


class Images(Dataset):
    def __init__(self, args, rank):
        self.count, self.rank = args.images, rank
        self.camera, self.damaged = args.camera, args.damaged

    def __len__(self):
        return self.count

    def read_camera(self, index):
        print("ONSET", flush=True)
        path = os.path.join(tempfile.mkdtemp(), "camera")
        os.mkfifo(path)
        with open(path, "rb") as camera:
            return torch.frombuffer(bytearray(camera.read()), dtype=torch.uint8)

    def __getitem__(self, index):
        if self.camera == f"{self.rank}:{index}":
            return self.read_camera(index)
        if self.damaged == f"{self.rank}:{index}":
            raise ValueError(f"image {index} is damaged")
        return torch.full((3, 16, 16), index / self.count)


def from_thread(dataset, size):
    """A background thread decodes images and puts batches into a queue."""
    batches = queue.Queue(maxsize=4)

    def decode():
        for first in range(0, len(dataset), size):
            try:
                batches.put(torch.stack([dataset[i] for i in range(first, min(first + size, len(dataset)))]))
            except ValueError as error:
                print("ONSET", flush=True)
                print(f"decoder: {error}", flush=True)
                return

    threading.Thread(target=decode, daemon=True).start()
    for _ in range(0, len(dataset), size):
        yield batches.get()


class Cache:
    """Decoded images, filled by a background thread."""

    def __init__(self, dataset):
        self.dataset, self.images, self.lock = dataset, {}, threading.Lock()
        threading.Thread(target=self.fill, daemon=True).start()

    def fill(self):
        for index in range(len(self.dataset)):
            self.lock.acquire()
            try:
                self.images[index] = self.dataset[index]
            except ValueError as error:
                print("ONSET", flush=True)
                print(f"cache: {error}", flush=True)
                return
            self.lock.release()

    def lookup(self, index):
        with self.lock:
            if index not in self.images:
                self.images[index] = self.dataset[index]
            return self.images[index]

    def batches(self, size):
        for first in range(0, len(self.dataset), size):
            yield torch.stack([self.lookup(i) for i in range(first, first + size)])


def batches_of(args, dataset, size=8):
    if args.reader == "workers":
        return iter(DataLoader(dataset, batch_size=size, num_workers=args.workers))
    return from_thread(dataset, size) if args.reader == "thread" else Cache(dataset).batches(size)


def train_step(model, optimizer, images):
    optimizer.zero_grad()
    loss = (model(images).flatten(1) - images.mean((1, 2, 3), keepdim=False).unsqueeze(1)).square().mean()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    return loss.item()


def train(args, model, optimizer, dataset):
    batches = batches_of(args, dataset)
    for step in range(len(dataset) // 8):
        images = next(batches)
        loss = train_step(model, optimizer, images)
        if dist.get_rank() == 0 and step % 10 == 0:
            print(f"step {step} loss {loss:.4f}", flush=True)


def main():
    args = parse_args()
    signal.alarm(300)
    torch.set_num_threads(1)
    dist.init_process_group(args.backend)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    train(args, model, optimizer, Images(args, dist.get_rank()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
