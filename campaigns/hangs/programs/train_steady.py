"""A long, regular training with a line per step, and now and then a checkpoint.

    muster run -n 4 train_steady.py --backend gloo --steps 600
"""
import argparse
import os
import signal
import sys
import time

import torch
import torch.distributed as dist


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default=os.environ.get("BACKEND", "gloo"))
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--numbers", type=int, default=2000, help="numbers in a gradient")
    parser.add_argument("--unfreeze-at", type=int, default=-1, help="step from which the gradient is 1000 times larger")
    parser.add_argument("--pause", type=float, default=0.2, help="seconds of other work per step")
    parser.add_argument("--checkpoints", default="", help="directory to which rank 0 writes every 5 steps")
    parser.add_argument("--async-save", action="store_true", help="a child process writes the last checkpoint")
    parser.add_argument("--last-step-of", default="", help="RANK:STEP after which this rank has no more data")
    return parser.parse_args()


def compute_gradient(numbers, seconds):
    gradient = torch.randn(numbers)
    time.sleep(seconds)  # the accelerator would work now
    return gradient


def train_step(weights, numbers, seconds):
    gradient = compute_gradient(numbers, seconds)
    dist.all_reduce(gradient)
    weights[:1] -= gradient.mean()


def save_checkpoint(folder, weights, step):
    path = os.path.join(folder, f"step-{step}.pt")
    with open(path + ".new", "wb") as file:
        torch.save(weights, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def save_in_child(weights):
    """Writes the checkpoint in a child process, so that the training need not wait for it."""
    if os.fork() == 0:
        time.sleep(200)  # slow storage
        os._exit(0)


def leave(args, weights):
    print("ONSET", flush=True)
    if args.async_save:
        save_in_child(weights)
        os._exit(0)  # skip the slow shutdown of the interpreter
    sys.exit(0)


def train(args):
    rank = dist.get_rank()
    weights = torch.zeros(100_000)
    for step in range(args.steps):
        numbers = args.numbers
        if 0 <= args.unfreeze_at <= step:
            numbers *= 1000
            if step == args.unfreeze_at and rank == 0:
                print("ONSET", flush=True)
        train_step(weights, numbers, args.pause)
        if rank == 0:
            print(f"STEP {step}", flush=True)
            if args.checkpoints and step % 5 == 4:
                save_checkpoint(args.checkpoints, weights, step)
        if args.last_step_of == f"{rank}:{step}":
            leave(args, weights)


def main():
    args = parse_args()
    signal.alarm(300)
    torch.set_num_threads(1)
    dist.init_process_group(args.backend)
    train(args)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
