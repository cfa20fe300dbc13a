"""Memory, shared memory, and ranks that the kernel kills."""
from tests.explain.recipes.recipe import Recipe, lab, on
from tests.explain.recipes.training import torchrun

LOADER = """import torch
from torch.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.zeros(16 << 20, dtype=torch.uint8)

if __name__ == "__main__":
    for batch in DataLoader(Images(), batch_size=8, num_workers=2):
        print(batch.shape)
"""
KILLED = """import os, signal, time, torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(60)
"""
# The kernel log is shared by the whole machine, so only its last lines are about this process.
IN_A_SMALL_CGROUP = """mkdir -p /cgroup; mount -t cgroup -o memory none /cgroup; mkdir /cgroup/$$; echo 60M > /cgroup/$$/memory.limit_in_bytes
trap 'rmdir /cgroup/$$; umount /cgroup' EXIT
(echo 0 > /cgroup/$$/cgroup.procs; exec python3 -c 'shard = bytearray(200 << 20)') || true
dmesg | tail -2 > /tmp/kernel.log; chmod 644 /tmp/kernel.log"""
FULL_SHM = "fallocate -l 63M /dev/shm/filler"

RECIPES = [
    Recipe("cgroup-oom-kill", "a process that needs more memory than its container may use", "ssh n2 cat /tmp/kernel.log", [on("n2", IN_A_SMALL_CGROUP)], [on("n2", "rm /tmp/kernel.log")]),
    Recipe("dataloader-shm-bus-error", "a data loader with a small /dev/shm", "ssh n2 timeout 60 TORCH/python HERE/load.py", [lab("break", "n2", "small-shm")],
           [on("n2", "rm -f /dev/shm/torch_*; mount -o remount,size=50% /dev/shm")], files={"load.py": LOADER}, within=70),
    Recipe("ompi-shm-backing-full", "Open MPI 4 with a full /dev/shm", "timeout 40 mpirun -H n2:2 PROGRAM", [lab("break", "n2", "small-shm"), on("n2", FULL_SHM)],
           [on("n2", "rm /dev/shm/*; mount -o remount,size=50% /dev/shm")], mpi="openmpi4"),
    Recipe("ompi-shm-backing-full", "Open MPI 5 with a full /dev/shm", "timeout 40 mpirun -H n2:2 PROGRAM", [lab("break", "n2", "small-shm"), on("n2", FULL_SHM)],
           [on("n2", "rm /dev/shm/*; mount -o remount,size=50% /dev/shm")], mpi="openmpi5"),
    Recipe("worker-sigkill", "a rank of torchrun is killed", torchrun("HERE/killed.py", flags="--nproc-per-node 2", hosts="n1"), files={"killed.py": KILLED}, follows=("torchrun-sigterm-cascade",)),
    Recipe("worker-sigkill", "a rank of Open MPI is killed", "mpirun -H n1,n2 PROGRAM killed", mpi="openmpi4"),
    Recipe("host-memory-allocation-failed", "PyTorch allocates more memory than there is", "mpirun --tag-output -H n1,n2 TORCH/python HERE/allocate.py", mpi="openmpi4",
           files={"allocate.py": "import torch\nweights = torch.empty(1 << 46)\n"}, ranks=(0, 1)),
]
