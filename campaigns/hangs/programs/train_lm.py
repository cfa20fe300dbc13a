"""Trains a tiny language model; every rank reads its own shard of text.

    muster run -n 4 train_lm.py --backend gloo --data /tmp/corpus
"""
import argparse
import contextlib
import fcntl
import os
import pathlib
import signal
import subprocess
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F

VOCABULARY = 256
TEXT = b"the quick brown fox jumps over the lazy dog and runs away; "


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default=os.environ.get("BACKEND", "gloo"))
    parser.add_argument("--data", default="/tmp/corpus")
    parser.add_argument("--steps-per-shard", type=int, default=20)
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--unfinished", default="", help="RANK:SHARD that the preprocessing has not finished")
    parser.add_argument("--raw", default="", help="RANK:SHARD that must go through the tokenizer")
    parser.add_argument("--compressed", default="", help="RANK:SHARD that is unpacked through a named pipe")
    parser.add_argument("--shared-cache", action="store_true", help="the ranks of a host share one cache")
    return parser.parse_args()


def preprocess(args, rank):
    """Writes this rank's shards, as the preprocessing job would have done."""
    folder = pathlib.Path(args.data) / f"rank{rank}-{os.getpid()}"
    folder.mkdir(parents=True, exist_ok=True)
    for shard in range(args.shards):
        (folder / f"{shard}.txt").write_bytes(TEXT * 200)
        if args.unfinished != f"{rank}:{shard}":
            (folder / f"{shard}.done").touch()
    return folder


def wait_for_shard(folder, shard):
    """Waits for SHARD.done, which the preprocessing job writes after SHARD.txt."""
    marker = folder / f"{shard}.done"
    while not marker.exists():
        time.sleep(0.5)


def tokenize(path):
    """Sends the text through an external filter."""
    with subprocess.Popen(["tr", "-s", "[:space:]"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as tokenizer:
        tokenizer.stdin.write(path.read_bytes())
        tokenizer.stdin.flush()
        tokenizer.wait()


def unpack(path):
    """Starts an unpacker that writes into a named pipe."""
    pipe = path.with_suffix(".pipe")
    os.mkfifo(pipe)
    to_pipe = [(os.POSIX_SPAWN_OPEN, 1, str(pipe), os.O_WRONLY, 0o600)]
    os.posix_spawn("/bin/cat", ["cat", str(path)], os.environ, file_actions=to_pipe)
    return pipe.read_bytes()


@contextlib.contextmanager
def host_lock(name):
    with open(name, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
        fcntl.flock(lock, fcntl.LOCK_UN)


def fill_cache(args, rank, tokens):
    """Adds this rank's tokens to the cache. The ranks of a host take turns."""
    os.makedirs(args.data, exist_ok=True)
    time.sleep(int(os.environ.get("LOCAL_RANK", "0")))  # the first rank of the host writes the header
    if rank == 1:
        print("ONSET", flush=True)
    with host_lock(f"{args.data}/cache.lock"):
        with open(f"{args.data}/cache.bin", "ab") as cache:
            cache.write(bytes(tokens[:100].tolist()))
        dist.barrier()  # all ranks have written


def load_shard(args, rank, folder, shard):
    path = folder / f"{shard}.txt"
    if f"{rank}:{shard}" in (args.unfinished, args.raw, args.compressed):
        print("ONSET", flush=True)
    wait_for_shard(folder, shard)
    if args.raw == f"{rank}:{shard}":
        tokenize(path)
    if args.compressed == f"{rank}:{shard}":
        return torch.tensor(list(unpack(path)))
    return torch.tensor(list(path.read_bytes()))


def train_step(model, optimizer, tokens):
    start = torch.randint(len(tokens) - 65, (1,)).item()
    window = tokens[start:start + 65]
    optimizer.zero_grad()
    loss = F.cross_entropy(model(window[:-1]), window[1:])
    loss.backward()
    flat = torch.cat([p.grad.flatten() for p in model.parameters()])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    offset = 0
    for p in model.parameters():
        p.grad.copy_(flat[offset:offset + p.numel()].view_as(p))
        offset += p.numel()
    optimizer.step()
    return loss.item()


def main():
    args = parse_args()
    signal.alarm(300)
    torch.set_num_threads(1)
    dist.init_process_group(args.backend)
    rank = dist.get_rank()
    folder = preprocess(args, rank)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Embedding(VOCABULARY, 32), torch.nn.Linear(32, VOCABULARY))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for shard in range(args.shards):
        tokens = load_shard(args, rank, folder, shard)
        if args.shared_cache:
            fill_cache(args, rank, tokens)
        for step in range(args.steps_per_shard):
            loss = train_step(model, optimizer, tokens)
        if rank == 0:
            print(f"shard {shard}: loss {loss:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
