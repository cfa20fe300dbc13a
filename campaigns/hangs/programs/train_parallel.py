"""Tensor parallel inside a pair of ranks, data parallel between pairs.

    muster run -n 4 train_parallel.py --backend gloo --steps 40
"""
import argparse
import os
import signal

import torch
import torch.distributed as dist

WIDTH = 128


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default=os.environ.get("BACKEND", "gloo"))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--stats-every", type=int, default=0, help="share statistics in both groups every N steps")
    parser.add_argument("--metrics-at", type=int, default=-1, help="step after which two ranks make a group for metrics")
    parser.add_argument("--best-at", type=int, default=-1, help="step at which the best rank shares its weights")
    parser.add_argument("--larger-vocabulary-on", type=int, default=-1, help="rank that pads its vocabulary to a larger number")
    parser.add_argument("--embedding", type=int, default=16384)
    parser.add_argument("--double-on", type=int, default=-1, help="rank that trains in double precision")
    return parser.parse_args()


def make_groups(rank, size):
    """Rows hold the two halves of a layer, columns hold copies of it. A world of two has one of each."""
    rows = [dist.new_group([i, i + 1]) for i in range(0, size, 2)]
    columns = [dist.new_group(list(range(i, size, 2))) for i in range(2)] if size > 2 else [dist.new_group([0, 1])] * 2
    return rows[rank // 2], columns[rank % 2]


def share_statistics(rank, row, column):
    """Sums the moments of the activations within the row and within the column."""
    moments = torch.ones(64)
    last = dist.get_world_size() - 1
    if rank == 0 or rank == last > 1:
        groups = (row, column)
    else:
        groups = (column, row)
    print("ONSET", flush=True)
    for group in groups:
        dist.all_reduce(moments, group=group)
    return moments


def metrics_group(rank, size):
    """Ranks 0 and 1 collect the metrics; the last rank writes them down."""
    if rank in (0, 1):
        return dist.new_group([0, 1, size - 1])
    return None


def share_best(model, rank, accuracy):
    """The rank with the best accuracy sends its weights to the others."""
    best = rank if accuracy > 0.9 else 0
    if best != 0:
        print("ONSET", flush=True)
    for parameter in model.parameters():
        dist.broadcast(parameter.data, src=best)


def sync_embedding(args, rank):
    rows = args.embedding * 3 // 2 if rank == args.larger_vocabulary_on else args.embedding
    kind = torch.float64 if rank == args.double_on else torch.float32
    embedding = torch.ones(rows, WIDTH, dtype=kind)
    if rank in (args.larger_vocabulary_on, args.double_on):
        print("ONSET", flush=True)
    dist.all_reduce(embedding)
    return embedding


def train_step(model, row, column):
    partial = model(torch.randn(16, WIDTH))
    activations = partial.detach()
    dist.all_reduce(activations, group=row)
    model.zero_grad()
    partial.backward(activations)
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=column)
        parameter.data -= 1e-6 * parameter.grad


def main():
    args = parse_args()
    signal.alarm(300)
    torch.set_num_threads(1)
    dist.init_process_group(args.backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    row, column = make_groups(rank, size)
    torch.manual_seed(rank)
    model = torch.nn.Linear(WIDTH, WIDTH)
    for step in range(args.steps):
        train_step(model, row, column)
        if args.stats_every and (step + 1) % args.stats_every == 0:
            share_statistics(rank, row, column)
        if step == args.metrics_at:
            if rank == size - 1:
                print("ONSET", flush=True)
            metrics_group(rank, size)
        if step == args.best_at:
            share_best(model, rank, accuracy=0.95 if rank == size - 1 else 0.5)
        if (args.larger_vocabulary_on >= 0 or args.double_on >= 0) and step % 10 == 9:
            sync_embedding(args, rank)
        if rank == 0 and step % 10 == 0:
            print(f"step {step}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
