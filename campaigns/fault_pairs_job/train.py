"""Trains a classifier on one CSV shard per rank, like a user's first script. It does not use muster."""
import argparse
import json
import logging
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "vendor"))
from textnorm import Normalizer  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

from dataset import make_loader, read_shard  # noqa: E402
from model import Classifier  # noqa: E402

log = logging.getLogger("train")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--config", type=Path, default=Path("config.json"))
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--timeout", type=int, default=60)
    return parser.parse_args()


def save_metrics(path, values):
    """Only for the dashboard: the training does not need it."""
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(values))
    except OSError:
        log.exception("no metrics for the dashboard")


def train(args, config):
    rank = dist.get_rank()
    shard = read_shard(args.data, rank, Normalizer(config["alphabet"]))
    loader = make_loader(shard, args.batch, args.workers, config.get("augment", 0))
    features = next(iter(loader))[0].shape[1]
    model = DistributedDataParallel(Classifier(features, config["width"]))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["rate"])
    step = 0
    while step < args.steps:
        if step and step % 10 == 0 and config.get("reread"):
            loader = make_loader(read_shard(args.data, rank, Normalizer(config["alphabet"])), args.batch, args.workers, 0)
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            if not torch.isfinite(loss):
                raise FloatingPointError(f"loss is {loss.item()} at step {step}")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if rank == 0:
                print(f"step {step} loss {loss.item():.4f}", flush=True)
            if step % 5 == 0:
                save(model, args.out / f"state-{rank}.pt")
            if step >= args.steps:
                break
            if config.get("pause"):
                time.sleep(config["pause"])


def save(model, path):
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        torch.save(model.state_dict(), file)


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    args = parse()
    config = json.loads(args.config.read_text())
    torch.set_num_threads(1)
    cache = Path(os.environ["DATA_ROOT"])
    args.data = args.data if args.data.is_absolute() else cache / args.data
    save_metrics(args.out / f"metrics-{os.environ['RANK']}.json", {"ranks": os.environ["WORLD_SIZE"]})
    dist.init_process_group(args.backend, timeout=timedelta(seconds=args.timeout))
    train(args, config)
    dist.destroy_process_group()
    print("done", flush=True)


if __name__ == "__main__":
    main()
