"""Trains in steps over Gloo until rank 1 waits for a part of its data that never arrives."""
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist


def load_shard():
    while not os.path.exists("/tmp/shard-19"):
        time.sleep(0.2)


def main(timeout):
    dist.init_process_group("gloo")
    group = dist.new_group(timeout=datetime.timedelta(seconds=timeout))
    for step in range(5):
        if step == 3 and dist.get_rank() == 1:
            load_shard()
        dist.all_reduce(torch.ones(1000), group=group)
        print("step", step, flush=True)
    dist.destroy_process_group()


main(float(sys.argv[1]))
