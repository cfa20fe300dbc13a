"""Ranks that sum a tensor over Gloo until one of them fails: it raises an exception, exits with 3, or sleeps until the
others time out. An ordinary script that does not use muster.

usage: fail_ddp.py raise|exit|sleep RANK"""
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist


def main():
    how, which = sys.argv[1], int(sys.argv[2])
    dist.init_process_group("gloo", timeout=timedelta(seconds=300))
    group = dist.new_group(timeout=timedelta(seconds=5 if how == "sleep" else 1000))
    dist.barrier()
    print("up", flush=True)
    if dist.get_rank() == which:
        if how == "raise":
            raise ValueError("the loss is not a number")
        if how == "exit":
            print("leaving early", file=sys.stderr, flush=True)
            sys.exit(3)
        time.sleep(1000)
    dist.all_reduce(torch.ones(1000), group=group)


if __name__ == "__main__":
    main()
