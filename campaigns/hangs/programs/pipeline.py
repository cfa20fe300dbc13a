"""Pipeline parallelism: each rank is one stage and passes activations to the next.

    muster run -n 4 pipeline.py --backend gloo --batches 50
"""
import argparse
import os
import signal

import torch
import torch.distributed as dist

WIDTH = 256


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default=os.environ.get("BACKEND", "gloo"))
    parser.add_argument("--batches", type=int, default=50)
    parser.add_argument("--drop-empty", default="", help="STAGE:BATCH whose activations are all zero")
    parser.add_argument("--ring-after", type=int, default=0, help="after this many batches, exchange weights in a ring")
    return parser.parse_args()


def forward_stage(model, activations):
    with torch.no_grad():
        return torch.relu(model(activations))


def receive_activations(rank):
    activations = torch.zeros(8, WIDTH)
    dist.recv(activations, rank - 1)
    return activations


def run_batch(args, model, batch):
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    activations = torch.randn(8, WIDTH) if rank == 0 else receive_activations(rank)
    result = forward_stage(model, activations)
    if args.drop_empty == f"{rank}:{batch}":
        result = torch.zeros_like(result)
    if rank != last:
        if result.abs().sum() == 0:
            print("ONSET", flush=True)
            return None  # nothing to pass on
        dist.send(result, rank + 1)
    return result


def exchange_weights(model):
    """Every rank gets the weights of its left neighbour."""
    rank, size = dist.get_rank(), dist.get_world_size()
    theirs = torch.zeros_like(model.weight.data)
    dist.recv(theirs, (rank - 1) % size)
    dist.send(model.weight.data, (rank + 1) % size)
    model.weight.data.lerp_(theirs, 0.5)


def main():
    args = parse_args()
    signal.alarm(300)
    torch.set_num_threads(1)
    dist.init_process_group(args.backend)
    rank = dist.get_rank()
    model = torch.nn.Linear(WIDTH, WIDTH)
    for batch in range(args.batches):
        run_batch(args, model, batch)
        if args.ring_after and batch + 1 == args.ring_after:
            print("ONSET", flush=True)
            exchange_weights(model)
        if rank == 0 and batch % 10 == 0:
            print(f"batch {batch}", flush=True)
    total = torch.ones(1)
    dist.all_reduce(total)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
