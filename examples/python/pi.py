"""Estimates pi. Each rank draws random points in a square, and an all-reduce adds up how many of them lie in the circle.

    muster run -n 2 pi.py
    muster run -H node1,node2 --nproc-per-node 2 pi.py 10000000
"""
import argparse
import os
import sys

import torch
import torch.distributed as dist


def join_job():
    """Connects to the other ranks and returns this rank's device. The launcher sets RANK, WORLD_SIZE, LOCAL_RANK and MASTER_ADDR."""
    if "RANK" not in os.environ:
        sys.exit("pi.py: RANK is not set; use a launcher: muster run -n 2 pi.py")
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group(backend="nccl" if torch.cuda.is_available() else "gloo", init_method="env://")
    return device


def count_hits(points, seed, device):
    """Draws random points in the unit square and returns how many lie in the unit circle."""
    generator = torch.Generator(device).manual_seed(seed)
    xy = torch.rand(points, 2, generator=generator, dtype=torch.float64, device=device)
    return (xy.square().sum(1) < 1).sum()


def main():
    parser = argparse.ArgumentParser(description="Estimates pi with random points on all ranks.")
    parser.add_argument("points", type=int, nargs="?", default=1_000_000, help="random points per rank (default: 1000000)")
    options = parser.parse_args()

    device = join_job()
    hits = count_hits(options.points, seed=dist.get_rank(), device=device)  # each rank draws different points
    dist.all_reduce(hits)  # afterwards every rank has the sum
    if dist.get_rank() == 0:
        ranks = dist.get_world_size()
        points = options.points * ranks
        print(f"pi is about {4 * hits.item() / points:.5f}: {ranks} ranks, {points} points")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
