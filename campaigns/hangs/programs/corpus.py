"""Trains on text that is unpacked and tokenized first.

    muster run -n 2 corpus.py --backend gloo --reader main --seconds 35
"""
import argparse
import collections
import fcntl
import gzip
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, IterableDataset

TOKENIZER = """
import collections, gzip, json, sys, time
begin, counts = time.monotonic(), collections.Counter()
while time.monotonic() - begin < float(sys.argv[2]):
    for line in gzip.open(sys.argv[1], "rt"):
        counts.update(json.loads(line)["text"].split())
print(len(counts))
"""


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default=os.environ.get("BACKEND", "gloo"))
    parser.add_argument("--reader", choices=["main", "workers", "subprocess", "cache"], default="main")
    parser.add_argument("--only-rank", type=int, default=-1, help="the only rank whose data is so large")
    parser.add_argument("--seconds", type=float, default=35, help="seconds that the first batch takes")
    parser.add_argument("--steps", type=int, default=40)
    return parser.parse_args()


def write_archive(folder):
    """Writes a compressed file of documents."""
    words = [f"word{i}" for i in range(5000)]
    path = pathlib.Path(folder) / "documents.json.gz"
    with gzip.open(path, "wt") as file:
        for _ in range(2000):
            file.write(json.dumps({"text": " ".join(random.choices(words, k=60))}) + "\n")
    return path


def read_documents(path):
    with gzip.open(path, "rt") as file:
        for line in file:
            yield json.loads(line)["text"].split()


def count_words(path, seconds):
    """Reads the archive again and again, as the parts of a large corpus would be read."""
    begin, counts = time.monotonic(), collections.Counter()
    while time.monotonic() - begin < seconds:
        for words in read_documents(path):
            counts.update(words)
    return counts


class Documents(IterableDataset):
    def __init__(self, path, seconds):
        self.path, self.seconds = path, seconds

    def __iter__(self):
        counts = count_words(self.path, self.seconds)
        for words in read_documents(self.path):
            yield torch.tensor([counts[w] % 1000 for w in words[:60]], dtype=torch.float32)


def tokenize_in_subprocess(path, seconds):
    done = subprocess.run([sys.executable, "-c", TOKENIZER, str(path), str(seconds)], capture_output=True, text=True,
                          check=True)
    return int(done.stdout)


def shared_vocabulary(path, seconds):
    """The first rank of a host builds the vocabulary; the others wait for it and read it."""
    lock_path = f"/tmp/vocabulary-{os.getuid()}-{os.environ.get('MASTER_PORT', os.getppid())}"
    with open(lock_path, "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        text = lock.read()
        if not text:
            print("ONSET", flush=True)
            text = str(len(count_words(path, seconds)))
            lock.write(text)
            lock.flush()
        return int(text)


def load_batches(args, folder):
    path = write_archive(folder)
    large = args.only_rank in (-1, dist.get_rank())
    seconds = args.seconds if large else 0.2
    if args.reader == "cache":
        shared_vocabulary(path, seconds)
    elif large and dist.get_rank() == max(args.only_rank, 0):
        print("ONSET", flush=True)
    if args.reader == "main":
        count_words(path, seconds)
    if args.reader == "subprocess":
        tokenize_in_subprocess(path, seconds)
    slow = seconds if args.reader == "workers" else 0.1
    return iter(DataLoader(Documents(path, slow), batch_size=16, num_workers=1))


def train_step(model, optimizer, batch):
    optimizer.zero_grad()
    loss = model(batch / 1000).square().mean()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    return loss.item()


def main():
    args = parse_args()
    signal.alarm(300)
    torch.set_num_threads(1)
    dist.init_process_group(args.backend)
    model = torch.nn.Linear(60, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-7)
    with tempfile.TemporaryDirectory() as folder:
        batches = load_batches(args, folder)
        for step in range(args.steps):
            loss = train_step(model, optimizer, next(batches))
            if dist.get_rank() == 0 and step % 20 == 0:
                print(f"step {step} loss {loss:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
