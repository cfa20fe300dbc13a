"""Rank 0 sends a tensor to every other rank. The script reads its rank from the launcher's own variables, so it runs unchanged under each of these:

    torchrun --nproc-per-node 2 any_launcher.py
    mpirun -n 2 -x MASTER_ADDR=node1 -x MASTER_PORT=29500 python any_launcher.py
    MASTER_ADDR=node1 MASTER_PORT=29500 srun -n 2 python any_launcher.py
    muster run -H node1,node2 any_launcher.py

Bare mpirun and srun must be told where the ranks meet (MASTER_ADDR, MASTER_PORT). muster and torchrun set these variables themselves.
"""
import argparse
import os
import sys

import torch
import torch.distributed as dist

# The variables for rank, number of ranks and rank on this host. Slurm comes last, because the ranks of other launchers see its variables too inside a
# Slurm job.
VARIABLES = {
    "Open MPI": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    "MPICH or Intel MPI": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    "torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    "Slurm": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
}


def find_launcher():
    """Returns the launcher's name, and this rank, the number of ranks and the rank on this host."""
    for launcher, names in VARIABLES.items():
        if all(name in os.environ for name in names):
            return launcher, *(int(os.environ[name]) for name in names)
    sys.exit("any_launcher.py: no launcher has set a rank; try: muster run -n 2 any_launcher.py")


def main():
    parser = argparse.ArgumentParser(description="Rank 0 sends a tensor to every other rank.")
    parser.add_argument("--backend", default="nccl" if torch.cuda.is_available() else "gloo", choices=["nccl", "gloo"])
    parser.add_argument("--local_rank", "--local-rank", type=int, help="ignored; python -m torch.distributed.launch passes it")
    backend = parser.parse_args().backend

    launcher, rank, ranks, local_rank = find_launcher()
    device = torch.device("cuda", local_rank) if backend == "nccl" else torch.device("cpu")
    dist.init_process_group(backend, rank=rank, world_size=ranks)
    tensor = torch.full((1,), 42.0 if rank == 0 else 0.0, device=device)
    if rank == 0:
        for other in range(1, ranks):
            dist.send(tensor, dst=other)
        # The newline is part of the text, so that each line is one write. Otherwise the lines of ranks that share a terminal could mix.
        print(f"rank 0 of {ranks} sent {tensor.item():g} to the others; numbered by {launcher}\n", end="", flush=True)
    else:
        dist.recv(tensor, src=0)
        print(f"rank {rank} of {ranks} received {tensor.item():g} from rank 0; numbered by {launcher}\n", end="", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
