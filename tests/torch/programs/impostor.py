"""Tries to take the place of rank 1 of 2 in a job with libmuster through the job's ports. usage: impostor.py ADDRESS PORT
PREFIX"""
import datetime
import os
import sys

import torch
import torch.distributed as dist

address, port, prefix = sys.argv[1:]
os.environ["GLOO_SOCKET_IFNAME"] = "eth0"
patience = datetime.timedelta(seconds=20)
store = dist.TCPStore(address, int(port), 2, False, patience)
group = dist.ProcessGroupGloo(dist.PrefixStore(f"{prefix}muster/0", store), 1, 2, patience)
group.barrier().wait()  # what libmuster's ranks do if they have no key
group.allreduce([torch.ones(3)]).wait()
print("joined", flush=True)
