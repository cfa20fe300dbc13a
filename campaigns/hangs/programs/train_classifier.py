"""Data-parallel training of a small classifier, with gradients averaged by hand.

    muster run -n 4 train_classifier.py --backend gloo --epochs 3
"""
import argparse
import os
import signal

import torch
import torch.distributed as dist
import torch.nn.functional as F

FEATURES, CLASSES = 64, 10


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default=os.environ.get("BACKEND", "gloo"))
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--shard-sizes", default="", help="samples per rank, such as 640,640,512")
    parser.add_argument("--broken-batch", default="", help="RANK:EPOCH:BATCH of a batch with NaN in it")
    parser.add_argument("--easy-shard", type=int, default=-1, help="rank whose labels are all the same")
    parser.add_argument("--target-loss", type=float, default=0.0, help="stop when the loss is below this")
    parser.add_argument("--control-group", action="store_true", help="use a group of its own for the end of the job")
    return parser.parse_args()


def load_shard(args, rank):
    sizes = [int(s) for s in args.shard_sizes.split(",")] if args.shard_sizes else []
    samples = sizes[rank] if sizes else 640
    torch.manual_seed(rank)
    x = torch.randn(samples, FEATURES)
    y = torch.zeros(samples, dtype=torch.long) if rank == args.easy_shard else torch.randint(CLASSES, (samples,))
    return x, y


def average_gradients(model):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    if torch.isnan(loss):
        return None  # a broken batch: leave it out
    loss.backward()
    average_gradients(model)
    optimizer.step()
    return loss.item()


def train_epoch(args, model, optimizer, shard, epoch):
    rank = dist.get_rank()
    x, y = shard
    skipped = 0
    for batch, start in enumerate(range(0, len(x), args.batch_size)):
        inputs, labels = x[start:start + args.batch_size], y[start:start + args.batch_size]
        if f"{rank}:{epoch}:{batch}" == args.broken_batch:
            inputs = inputs * float("nan")
        loss = train_step(model, optimizer, inputs, labels)
        if loss is None:
            skipped += 1
        elif loss < args.target_loss:
            return "converged"
    return "skipped" if skipped else "done"


def evaluate(model, shard):
    x, y = shard
    with torch.no_grad():
        right = (model(x).argmax(1) == y).float().mean().reshape(1)
    everywhere = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(everywhere, right)
    return torch.cat(everywhere).mean().item()


def finish(model, control):
    dist.barrier(group=control)
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), f"/tmp/classifier-{os.getpid()}.pt")
    dist.barrier(group=control)


def main():
    args = parse_args()
    signal.alarm(300)
    torch.set_num_threads(1)
    dist.init_process_group(args.backend)
    rank = dist.get_rank()
    control = dist.new_group() if args.control_group else None
    shard = load_shard(args, rank)
    shortest = min(int(s) for s in args.shard_sizes.split(",")) if args.shard_sizes else None

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 128), torch.nn.ReLU(), torch.nn.Linear(128, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

    for epoch in range(args.epochs):
        outcome = train_epoch(args, model, optimizer, shard, epoch)
        if outcome == "converged":
            print("ONSET", flush=True)
            break
        if outcome == "skipped" or len(shard[0]) == shortest:
            print("ONSET", flush=True)
        if outcome == "skipped":
            dist.barrier()
        else:
            accuracy = evaluate(model, shard) if not args.broken_batch else 0.0
            if args.broken_batch:
                dist.barrier()
            if rank == 0:
                print(f"epoch {epoch}: accuracy {accuracy:.3f}", flush=True)
    finish(model, control)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
