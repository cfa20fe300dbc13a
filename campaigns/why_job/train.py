"""A small training with fixed seeds, for the campaigns that inspect running jobs.

    muster run -n 2 train.py --backend gloo --steps 500
"""
import argparse
import hashlib
import os
import signal
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

BLOCK = 20  # steps between two checks of the clock


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("--steps", type=int, default=0, help="number of steps; a multiple of %d" % BLOCK)
    parser.add_argument("--until", default="", help="train until this file exists on rank 0's host")
    parser.add_argument("--pause", type=float, default=0, help="seconds of other work per step")
    parser.add_argument("--width", type=int, default=256, help="of the hidden layers")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--missing", type=int, default=-1, help="rank that waits for a file after the first steps")
    return parser.parse_args()


def make_model(width):
    torch.manual_seed(1)
    layers = [torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(width, width), torch.nn.ReLU(),
              torch.nn.Linear(width, 10)]
    return DistributedDataParallel(torch.nn.Sequential(*layers))


def load_shard():
    while not os.path.exists("/data/shard-19"):
        time.sleep(0.5)


def compute_loss(model, batch, generator):
    x = torch.randn(batch, 64, generator=generator)
    return torch.nn.functional.cross_entropy(model(x), (x[:, :10]).argmax(1))


def train_block(args, model, optimizer, generator):
    for _ in range(BLOCK):
        optimizer.zero_grad()
        loss = compute_loss(model, args.batch, generator)
        if args.pause:
            time.sleep(args.pause)  # time in which an accelerator would work
        loss.backward()
        optimizer.step()


def is_over(args, steps):
    """Returns whether the training is over. Rank 0 decides."""
    over = torch.tensor([os.path.exists(args.until) if args.until else steps >= args.steps], dtype=torch.int32)
    dist.broadcast(over, 0)
    return bool(over.item())


def weights_hash(model):
    digest = hashlib.sha256()
    for name, tensor in sorted(model.module.state_dict().items()):
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


def main():
    args = parse_args()
    signal.alarm(3 * 3600)
    torch.set_num_threads(1)
    dist.init_process_group(args.backend)
    rank = dist.get_rank()
    model = make_model(args.width)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    torch.manual_seed(100 + rank)  # for dropout
    generator = torch.Generator().manual_seed(200 + rank)
    steps = 0
    while not is_over(args, steps):
        train_block(args, model, optimizer, generator)
        steps += BLOCK
        if rank == 0 and steps == BLOCK:
            print("READY", flush=True)
        if rank == args.missing:
            load_shard()
    print(f"WEIGHTS {steps} {weights_hash(model)}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
