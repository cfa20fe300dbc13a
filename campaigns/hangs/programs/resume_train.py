"""A training that resumes from a checkpoint, with the usual steps before the first batch.

    muster run -n 4 resume_train.py --backend gloo --out /tmp/run7
"""
import argparse
import datetime
import os
import pathlib
import pdb
import signal
import socket
import sys
import threading
import time

import torch
import torch.distributed as dist


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default=os.environ.get("BACKEND", "gloo"))
    parser.add_argument("--out", default=f"/tmp/resume-train-{os.getuid()}")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--ranks", type=int, default=0, help="number of ranks, if not that of the launcher")
    parser.add_argument("--prepare", type=float, default=0, help="seconds that preparing the data takes")
    parser.add_argument("--await-licence-on", type=int, default=-1, help="rank that first fetches a licence")
    parser.add_argument("--ask", action="store_true", help="ask before an old checkpoint is overwritten")
    parser.add_argument("--debug-on", default="", help="RANK:STEP where the debugger starts")
    parser.add_argument("--remote-debug-on", default="", help="RANK:STEP where a debugger may connect")
    parser.add_argument("--claim", action="store_true", help="claim the output directory with a file")
    parser.add_argument("--monitor", action="store_true", help="report the rank's health in a thread")
    parser.add_argument("--bad-sample", default="", help="RANK:STEP of a sample with a missing field")
    return parser.parse_args()


def prepare_data(args):
    """Makes the samples; every rank does it before it joins the others."""
    print("STEP 0", flush=True)
    deadline = time.monotonic() + args.prepare
    samples = torch.randn(256, 32)
    while time.monotonic() < deadline:
        samples = samples[torch.randperm(256)]
        time.sleep(0.05)
    return samples


def fetch_licence(folder):
    """Waits for the file that the licence server puts into the folder."""
    print("ONSET", flush=True)
    while not (folder / "licence").exists():
        time.sleep(1)


def join_ranks(args, rank):
    if not args.ranks:
        dist.init_process_group(args.backend, timeout=datetime.timedelta(minutes=10))
        return
    if rank == 0:
        print("ONSET", flush=True)
    dist.init_process_group(args.backend, rank=rank, world_size=args.ranks, timeout=datetime.timedelta(minutes=10))


def confirm_overwrite(checkpoint):
    print("ONSET", flush=True)
    answer = input(f"{checkpoint} exists. Overwrite it? [y/N] ")
    if answer.strip().lower() != "y":
        sys.exit("not overwritten")


def claim_directory(folder):
    """Waits until no other job writes here. A job removes its file `claimed` at its end."""
    claim = folder / "claimed"
    while True:
        try:
            os.close(os.open(claim, os.O_CREAT | os.O_EXCL))
            return
        except FileExistsError:
            time.sleep(1)


def wait_for_debugger(port=0):
    with socket.create_server(("127.0.0.1", port)) as server:
        print("ONSET", flush=True)
        print(f"debugger: connect to port {server.getsockname()[1]}", flush=True)
        connection, _ = server.accept()
    stream = connection.makefile("rw")
    pdb.Pdb(stdin=stream, stdout=stream).set_trace()


def report_health(started):
    """Tells the monitoring every few seconds that this rank is alive."""
    while True:
        time.sleep(5)
        pathlib.Path(f"/tmp/alive-{os.getpid()}").write_text(f"{time.monotonic() - started:.0f}\n")


def read_sample(samples, step, broken):
    sample = {"x": samples[step % len(samples)]} if broken else {"x": samples[step % len(samples)], "y": 1.0}
    return sample["x"], sample["y"]


def train_step(args, model, optimizer, samples, step):
    here = f"{dist.get_rank()}:{step}"
    if here == args.debug_on:
        print("ONSET", flush=True)
        pdb.set_trace()
    if here == args.remote_debug_on:
        wait_for_debugger()
    if here == args.bad_sample:
        print("ONSET", flush=True)
    x, y = read_sample(samples, step, here == args.bad_sample)
    optimizer.zero_grad()
    loss = (model(x) - y).square().mean()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    return loss.item()


def main():
    args = parse_args()
    signal.alarm(300)
    torch.set_num_threads(1)
    rank = int(os.environ.get("RANK", os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", "0"))))
    folder = pathlib.Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    samples = prepare_data(args)
    if rank == args.await_licence_on:
        fetch_licence(folder)
    join_ranks(args, rank)
    if args.monitor:
        threading.Thread(target=report_health, args=(time.monotonic(),)).start()
    if args.ask and rank == 0:
        confirm_overwrite(folder / "last.pt")
    if args.claim and rank == 0:
        (folder / "claimed").touch()  # left behind by a job that was killed
        print("ONSET", flush=True)
        claim_directory(folder)
    dist.barrier()
    torch.manual_seed(0)
    model = torch.nn.Linear(32, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(args.steps):
        loss = train_step(args, model, optimizer, samples, step)
        if rank == 0 and step % 20 == 0:
            print(f"loss {loss:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
