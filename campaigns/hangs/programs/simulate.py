"""Scientific work between collectives: sampling in Python, numpy, many small collectives, a pipeline.

    muster run -n 2 simulate.py --backend gloo --work sample --seconds 35
"""
import argparse
import math
import os
import random
import signal
import time

import numpy
import torch
import torch.distributed as dist


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default=os.environ.get("BACKEND", "gloo"))
    parser.add_argument("--work", choices=["sample", "numpy", "collectives", "pipeline", "bursts", "self-play"],
                        default="sample")
    parser.add_argument("--seconds", type=float, default=35)
    return parser.parse_args()


def sample_posterior(seconds):
    """Metropolis sampling of a two-humped density, in pure Python."""
    begin, x, total, count = time.monotonic(), 0.0, 0.0, 0
    while time.monotonic() - begin < seconds:
        for _ in range(1000):
            proposal = x + random.gauss(0, 1)
            ratio = (math.exp(-(proposal - 2) ** 2) + math.exp(-(proposal + 2) ** 2)) / (
                math.exp(-(x - 2) ** 2) + math.exp(-(x + 2) ** 2))
            if random.random() < ratio:
                x = proposal
            total += x
            count += 1
    return total / count


def cluster_points(seconds):
    """k-means with numpy."""
    generator = numpy.random.default_rng(0)
    points, centres = generator.normal(size=(20000, 16)), generator.normal(size=(20, 16))
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        distances = ((points[:, None, :] - centres[None]) ** 2).sum(2)
        nearest = distances.argmin(1)
        centres = numpy.stack([points[nearest == c].mean(0) if (nearest == c).any() else centres[c] for c in range(20)])
    return float(centres.mean())


def reduce_many(seconds):
    """Thousands of small collectives; rank 0's clock decides when to stop."""
    begin, value, more = time.monotonic(), torch.ones(256), torch.ones(1)
    while more.item():
        for _ in range(50):
            dist.all_reduce(value)
            value /= dist.get_world_size()
        more.fill_(float(time.monotonic() - begin < seconds))
        dist.broadcast(more, 0)
    return value.sum().item()


def run_pipeline(seconds):
    """Stages pass activations; the first stage sends a negative number at the end."""
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    layer, begin, batches = torch.nn.Linear(128, 128), time.monotonic(), 0
    activations = torch.randn(32, 128)
    with torch.no_grad():
        while True:
            if rank > 0:
                dist.recv(activations, rank - 1)
            elif time.monotonic() - begin > seconds:
                activations.fill_(-1)
            over = bool((activations == -1).all())
            passed = activations if over else torch.relu(layer(activations)) + 0.01
            if rank < last:
                dist.send(passed, rank + 1)
            batches += 1
            if over:
                return batches


def compute_in_bursts(seconds):
    """Four seconds of work on every rank in turn, then an all_reduce in which the others wait."""
    total, rank, size = torch.zeros(1), dist.get_rank(), dist.get_world_size()
    for turn in range(int(seconds / 4)):
        if turn % size == rank:
            total += cluster_points(4)
        dist.all_reduce(total)
    return total.item()


def play(depth):
    """Returns the value of a small game of taking stones, by full search."""
    if depth <= 0:
        return -1
    return max(-play(depth - take) for take in (1, 2, 3))


def self_play(seconds):
    """Rank 0 learns; the other ranks play games and send it the results."""
    rank, size = dist.get_rank(), dist.get_world_size()
    results = torch.zeros(1)
    if rank == 0:
        for actor in range(1, size):
            dist.recv(results, actor)
        return results.item()
    begin, won = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        won += play(random.randint(10, 16)) > 0
    dist.send(torch.tensor([float(won)]), 0)
    return won


def main():
    args = parse_args()
    signal.alarm(300)
    torch.set_num_threads(1)
    dist.init_process_group(args.backend)
    random.seed(dist.get_rank())
    work = {"sample": sample_posterior, "numpy": cluster_points, "collectives": reduce_many, "pipeline": run_pipeline,
            "bursts": compute_in_bursts, "self-play": self_play}[args.work]
    if dist.get_rank() == 0:
        print("ONSET", flush=True)
    result = torch.tensor([float(work(args.seconds))])
    dist.all_reduce(result)
    if dist.get_rank() == 0:
        print(f"result {result.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
