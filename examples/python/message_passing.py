"""Rank 0 sends a tensor to every other rank. Each rank prints the tensor that it has in the end.

    muster run -n 2 message_passing.py
    muster run -H node1,node2 --nproc-per-node 2 message_passing.py
"""
import os
import sys

import torch
import torch.distributed as dist


def join_job():
    """Connects to the other ranks and returns this rank's device. The launcher sets RANK, WORLD_SIZE, LOCAL_RANK and MASTER_ADDR."""
    if "RANK" not in os.environ:
        sys.exit("message_passing.py: RANK is not set; use a launcher: muster run -n 2 message_passing.py")
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group(backend="nccl" if torch.cuda.is_available() else "gloo", init_method="env://")
    return device


def main():
    device = join_job()
    rank, ranks = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        tensor = torch.tensor([0.5, 1.0, 1.5], device=device)
        for other in range(1, ranks):
            dist.send(tensor, dst=other)
    else:
        tensor = torch.zeros(3, device=device)
        dist.recv(tensor, src=0)
    print(f"rank {rank} of {ranks} has", *(f"{value:g}" for value in tensor.tolist()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
