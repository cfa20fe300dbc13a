"""Failures that `muster check` finds beforehand, beyond the faults in tests/checks."""
from tests.explain.recipes.recipe import Recipe, lab, on
from tests.explain.recipes.training import TRAIN

ALL = ("n1", "n2", "n3")
CHECK = "muster check --json -H n[1-3] "
TORCHRUN = CHECK + "--engine torchrun --activate 'PATH=TORCH:$PATH' "
SCRIPT = "-- python HERE/train.py"

# A virtual environment with the files of PyTorch that muster reads. Nothing imports it.
PACKAGES = "venv/lib/python3.11/site-packages"
CUDA_TORCH = {"train.py": TRAIN, "venv/pyvenv.cfg": "home = /usr/bin\n", "venv/bin/torchrun": "#!HERE/venv/bin/python3\n", f"{PACKAGES}/torch/__init__.py": "",
              f"{PACKAGES}/torch/version.py": "__version__ = '2.13.0'\ncuda = '13.0'\nhip = None\n",
              f"{PACKAGES}/nvidia/nccl/include/nccl.h": "#define NCCL_MAJOR 2\n#define NCCL_MINOR 27\n#define NCCL_PATCH 5\n"}
WITH_CUDA_TORCH = "muster check --json -H n[1-3] --engine torchrun --nproc-per-node 1 --activate 'PATH=HERE/venv/bin:$PATH' -- python3 HERE/train.py"
LINK = "ln -sf /usr/bin/python3 HERE/venv/bin/python3"
GPUS = "hosts=3 like=hgx-roce"

RECIPES = [
    Recipe("driver-too-old", "a PyTorch for a newer driver", WITH_CUDA_TORCH, [on("n1,n2,n3", LINK)], files=CUDA_TORCH, lab=GPUS, hosts=ALL, also=("torch-store-open",)),
    Recipe("nccl-version-mismatch", "another NCCL on one host", WITH_CUDA_TORCH,
           [on("n1,n2,n3", LINK + f"; sed -i s/13.0/12.8/ HERE/{PACKAGES}/torch/version.py"), on("n2", f"sed -i s/27/21/ HERE/{PACKAGES}/nvidia/nccl/include/nccl.h")],
           files=CUDA_TORCH, lab=GPUS, hosts=("n2",), also=("torch-store-open",)),
    Recipe("intelmpi-no-libfabric", "Intel MPI on a host without libfabric", CHECK + "--engine intel", [on("n2", "rm /usr/lib/x86_64-linux-gnu/libfabric.so*; ldconfig")], own_lab=True,
           mpi="intel", hosts=("n2",)),
    Recipe("remote-cwd-missing", "hosts without this machine's directory", f"mkdir -p project; cd project; {CHECK} -- hostname", mpi="openmpi4", hosts=ALL),
    Recipe("omp-threads-oversubscribed", "more threads than CPUs", CHECK + "--threads 64", mpi="openmpi4", hosts=ALL),
    Recipe("torch-store-open", "a store that another network reaches", TORCHRUN + SCRIPT, files={"train.py": TRAIN}, lab="hosts=3 nics=2", hosts=("n1",)),
    Recipe("torchrun-rendezvous-open", "a rendezvous that another network reaches", TORCHRUN + "--nnodes 2:3 " + SCRIPT, files={"train.py": TRAIN}, lab="hosts=3 nics=2", hosts=("n1",)),
    Recipe("gloo-takes-first-address", "an IPv4 address that only n2 has", TORCHRUN.replace("3", "2") + SCRIPT,
           [on("n2", "ip addr del 198.18.1.2/16 dev eth0; ip addr add 198.19.77.2/24 dev eth0")], files={"train.py": TRAIN}, lab="hosts=2 ip=both", own_lab=True, hosts=("n1", "n2"),
           also=("torch-store-open",)),
    Recipe("torch-without-cuda", "a PyTorch without CUDA on hosts with GPUs", TORCHRUN.replace("3", "2") + SCRIPT, files={"train.py": TRAIN}, lab="hosts=2 like=dgx-spark", hosts=("n1", "n2"),
           also=("torch-store-open",)),
    Recipe("ssh-too-many-agent-keys", "an agent with many keys, beforehand",
           "eval $(ssh-agent) >/dev/null; for i in 1 2 3 4 5 6 7; do ssh-keygen -q -t ed25519 -N '' -f key$i; ssh-add -q key$i; done; mv .ssh/id_ed25519 .ssh/kept; "
           "muster check --json -H n2; ssh-agent -k >/dev/null", mpi="openmpi4", own_lab=True, hosts=("n2",)),
    Recipe("ssh-maxstartups-throttle", "a sshd that admits few logins at once, beforehand", "python3 HERE/hold.py & until [ -e held ]; do sleep 0.1; done; muster check --json -H n1,n2; kill %1",
           [on("n2", "echo 'MaxStartups 3:100:3' >> /etc/ssh/sshd_config; kill -HUP $(cat /run/sshd.pid)")], own_lab=True, mpi="openmpi4", hosts=("n2",),
           files={"hold.py": "import socket, time\nheld = [socket.create_connection(('n2', 22)) for _ in range(8)]\nopen('held', 'w').close()\ntime.sleep(100)\n"}),
    Recipe("nat-or-bridge-container-network", "containers on bridges of their machines", CHECK, [on("n1,n2,n3", "touch /run/.containerenv; cat /proc/sys/kernel/random/uuid > /run/boot_id; mount --bind /run/boot_id /proc/sys/kernel/random/boot_id"), lab("link", "n2", "--only-ssh")], own_lab=True,
           mpi="openmpi4", hosts=("n2",), also=("ephemeral-ports-filtered",)),
]
