"""Trains, evaluates on rank 0 and saves checkpoints; says little meanwhile.

    muster run -n 3 finetune.py --backend gloo --evaluate 40
"""
import argparse
import hashlib
import os
import signal
import tempfile
import time

import torch
import torch.distributed as dist


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default=os.environ.get("BACKEND", "gloo"))
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--evaluate", type=float, default=0, help="seconds that rank 0 evaluates")
    parser.add_argument("--checkpoint", type=float, default=0, help="seconds that rank 0 writes a checkpoint")
    parser.add_argument("--warm-up", type=float, default=0, help="seconds of trials before the first step")
    parser.add_argument("--epoch", type=float, default=0, help="seconds of training without a line")
    parser.add_argument("--long-batch-on", type=int, default=-1, help="rank with a much longer batch than the others")
    parser.add_argument("--long-batch", type=float, default=35, help="seconds for this batch")
    parser.add_argument("--slow-rank", type=int, default=-1, help="rank that needs ten times as long for each step")
    return parser.parse_args()


def make_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 16))


def train_step(model, optimizer, batch):
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    return loss.item()


def warm_up(model, seconds):
    """Tries several batch sizes and keeps the fastest."""
    begin, fastest = time.monotonic(), (0, 0)
    while time.monotonic() - begin < seconds:
        for size in (16, 64, 256, 1024):
            started = time.perf_counter()
            model(torch.randn(size, 256)).sum().backward()
            fastest = max(fastest, (size / (time.perf_counter() - started), size))
    return fastest[1]


def evaluate(model, seconds):
    begin, right, seen = time.monotonic(), 0, 0
    with torch.no_grad():
        while time.monotonic() - begin < seconds:
            x = torch.randn(128, 256)
            right += int((model(x).argmax(1) == 3).sum())
            seen += 128
    return right / seen


def save_checkpoint(model, seconds):
    """Writes the weights and their checksum many times over, as shards of a large model would be."""
    begin, shard = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() - begin < seconds:
            path = os.path.join(folder, f"shard-{shard % 4}.pt")
            torch.save({"weights": [model.state_dict()] * 20, "more": torch.randn(1_000_000)}, path)
            with open(path, "rb+") as file:
                hashlib.sha256(file.read()).hexdigest()
                os.fsync(file.fileno())
            shard += 1
    return shard


def long_batch(model, seconds):
    """Trains on a document of a million tokens, window by window."""
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        model(torch.randn(256, 256)).square().mean().backward()


def train_epoch(args, model, optimizer):
    """Trains until rank 0's clock says that the epoch is over."""
    begin, go_on, steps = time.monotonic(), torch.ones(1), 0
    while go_on.item():
        size = 640 if dist.get_rank() == args.slow_rank else 64
        train_step(model, optimizer, torch.randn(size, 256))
        go_on.fill_(float(time.monotonic() - begin < args.epoch))
        dist.broadcast(go_on, 0)
        steps += 1
    return steps


def main():
    args = parse_args()
    signal.alarm(300)
    torch.set_num_threads(1)
    dist.init_process_group(args.backend)
    rank = dist.get_rank()
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    if args.warm_up:
        if rank == 0:
            print("ONSET", flush=True)
        warm_up(model, args.warm_up)
    for step in range(args.steps):
        if rank == args.long_batch_on and step == 20:
            print("ONSET", flush=True)
            long_batch(model, args.long_batch)
        train_step(model, optimizer, torch.randn(64, 256))
    if rank == 0:
        print(f"{args.steps} steps", flush=True)
    if args.epoch:
        if rank == 0:
            print("ONSET", flush=True)
        steps = train_epoch(args, model, optimizer)
        if rank == 0:
            print(f"epoch of {steps} steps", flush=True)
    if rank == 0 and args.evaluate:
        print("ONSET", flush=True)
        print(f"accuracy {evaluate(model, args.evaluate):.3f}", flush=True)
    if rank == 0 and args.checkpoint:
        print("ONSET", flush=True)
        print(f"{save_checkpoint(model, args.checkpoint)} shards", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
