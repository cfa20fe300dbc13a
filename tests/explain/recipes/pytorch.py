"""A PyTorch script fails under torchrun, or does not reach its first step."""
from tests.explain.recipes.recipe import Recipe

GLOO = "import torch, torch.distributed as dist\ndist.init_process_group('gloo')\n"
TORCHRUN = "TORCH/torchrun --standalone --nproc-per-node"


def script(id, name, text, processes=2, **more):
    """Returns a recipe that runs this script with torchrun on n1."""
    follows = ("torchrun-first-failure", *more.pop("follows", ()))
    more.setdefault("benign", ("omp-num-threads-one",) if processes > 1 else ())
    return Recipe(id, name, f"ssh n1 '{TORCHRUN} {processes} HERE/train.py'", files={"train.py": text}, follows=follows, **more)


def alone(id, name, text, python="TORCH/python", **more):
    return Recipe(id, name, f"ssh n1 '{python} HERE/train.py'", files={"train.py": text}, **more)


LOADER = "import os, signal, torch\nclass Data(torch.utils.data.Dataset):\n    def __len__(self): return 8\n    def __getitem__(self, i): {}\n" \
         "for batch in torch.utils.data.DataLoader(Data(), num_workers=1): pass\n"

RECIPES = [
    script("mpi-backend-not-built", "backend mpi with PyTorch from pip", "import torch.distributed as dist\ndist.init_process_group('mpi')\n"),
    script("backend-not-built", "backend nccl with PyTorch for the CPU", "import torch.distributed as dist\ndist.init_process_group('nccl')\n"),
    script("default-group-missing", "a collective before init_process_group", "import torch, torch.distributed as dist\ndist.all_reduce(torch.ones(1))\n"),
    script("default-group-twice", "init_process_group twice", GLOO + "dist.init_process_group('gloo')\n", ranks=(0, 1)),
    script("tensor-shapes-do-not-fit", "a batch with a feature too many", GLOO + "if dist.get_rank() == 1: torch.nn.Linear(4, 2)(torch.ones(3, 5))\ndist.barrier()\n",
           ranks=(1,), follows=("gloo-peer-closed",)),
    script("tensors-on-different-devices", "a tensor on another device", "import torch\ntorch.ones(2, device='meta') + torch.ones(2)\n"),
    script("torch-without-cuda", "CUDA with PyTorch for the CPU", "import torch\ntorch.ones(1).to('cuda')\n"),
    script("ddp-unused-parameters", "a layer that the loss does not use",
           GLOO + "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.used, self.other = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)\n"
                  "    def forward(self, x): return self.used(x)\nmodel = torch.nn.parallel.DistributedDataParallel(Net())\nfor step in range(2): model(torch.ones(1, 2)).sum().backward()\n",
           ranks=(0, 1)),
    script("ddp-models-differ", "a model with a layer more on rank 1",
           GLOO + "layers = [torch.nn.Linear(2, 2) for _ in range(1 + dist.get_rank())]\ntorch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))\n"),
    script("ddp-models-differ", "a layer of another size on rank 1", GLOO + "torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2 + dist.get_rank()))\n"),
    script("gloo-size-mismatch", "all_reduce of tensors of two sizes", GLOO + "dist.all_reduce(torch.ones(10 + 10 * dist.get_rank()))\n"),
    script("collective-mismatch", "all_reduce on one rank and broadcast on the other",
           "import os\nos.environ['TORCH_DISTRIBUTED_DEBUG'] = 'DETAIL'\n" + GLOO + "if dist.get_rank() == 0: dist.all_reduce(torch.ones(4))\nelse: dist.broadcast(torch.ones(4), 0)\n"),
    script("gloo-wait-timeout", "a rank that does not come to the collective",
           "import datetime, time, torch, torch.distributed as dist\ndist.init_process_group('gloo', timeout=datetime.timedelta(seconds=5))\n"
           "if dist.get_rank() == 1: time.sleep(600)\ndist.all_reduce(torch.ones(1))\n", within=90),
    script("tcpstore-client-timeout", "a wrong master port on rank 1",
           "import datetime, os, torch.distributed as dist\nif os.environ['RANK'] == '1': os.environ['MASTER_PORT'] = '29999'\n"
           "dist.init_process_group('gloo', timeout=datetime.timedelta(seconds=5))\n", says="29999", within=90),
    alone("tcpstore-clients-missing", "a store that waits for a third rank",
          "import datetime, torch.distributed as dist\ndist.TCPStore('127.0.0.1', 29871, 3, True, datetime.timedelta(seconds=4))\n"),
    alone("env-var-rank-missing", "a script that python starts directly", "import torch.distributed as dist\ndist.init_process_group('gloo')\n"),
    Recipe("torchrun-rdzv-timeout", "one of two nodes that does not come",
           "ssh n1 'TORCH/torchrun --nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint n1:29544 --rdzv-conf join_timeout=5 --no-python true'", within=90),
    Recipe("tcpstore-client-timeout", "a rendezvous endpoint where nothing listens",
           "ssh n2 'TORCH/torchrun --nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint n1:29545 --rdzv-conf timeout=5,read_timeout=5 --no-python true'",
           follows=("torchrun-rdzv-connection",), says="29545", within=90),
    script("program-segfault", "a rank that crashes in compiled code", "import ctypes, os\nif os.environ['RANK'] == '1': ctypes.string_at(0)\n"),
    script("worker-sigkill", "a DataLoader worker that is killed", LOADER.format("os.kill(os.getpid(), signal.SIGKILL)"), 1, follows=("dataloader-worker-exited",)),
    script("program-segfault", "a DataLoader worker that crashes", LOADER.format("os.kill(os.getpid(), signal.SIGSEGV)"), 1, follows=("dataloader-worker-exited",)),
    alone("store-connection-reset", "a store whose process ended", "import datetime, os, time, torch.distributed as dist\nif os.fork() == 0:\n"
          "    store = dist.TCPStore('127.0.0.1', 29873, None, True, wait_for_workers=False)\n    time.sleep(6)\n    os._exit(0)\ntime.sleep(2)\n"
          "dist.TCPStore('127.0.0.1', 29873, None, False, datetime.timedelta(seconds=60)).get('never')\n", within=90),
    alone("spawn-rank-failed", "a spawned process that exits", "import os, torch.multiprocessing as mp\ndef work(rank):\n    if rank == 1: os._exit(3)\n"
          "if __name__ == '__main__': mp.spawn(work, nprocs=2)\n"),
    alone("jit-lock-stale", "a lock that a killed build left", "from torch.utils.file_baton import FileBaton\nopen('/tmp/lock', 'w').close()\n"
          "FileBaton('/tmp/lock', warn_after_seconds=1).wait()\n", python="timeout 30 TORCH/python"),
    alone("not-picklable", "a lambda for a spawned worker", "import torch\nclass Squares(torch.utils.data.Dataset):\n    def __init__(self): self.f = lambda x: x * x\n"
          "    def __len__(self): return 8\n    def __getitem__(self, i): return self.f(i)\nif __name__ == '__main__':\n"
          "    for batch in torch.utils.data.DataLoader(Squares(), num_workers=1, multiprocessing_context='spawn'): pass\n"),
    alone("state-dict-mismatch", "a checkpoint of a smaller model",
          "import torch\ntorch.save(torch.nn.Linear(4, 2).state_dict(), '/tmp/small.pt')\ntorch.nn.Linear(8, 2).load_state_dict(torch.load('/tmp/small.pt'))\n"),
    alone("weights-only-load", "a checkpoint with an argparse namespace", "import argparse, torch\ntorch.save({'args': argparse.Namespace(lr=1)}, '/tmp/args.pt')\ntorch.load('/tmp/args.pt')\n"),
    alone("save-directory-missing", "a checkpoint folder that nobody made", "import torch\ntorch.save({}, 'checkpoints/step_100.pt')\n"),
    alone("missing-main-guard", "a script without a main guard", "import multiprocessing\nmultiprocessing.get_context('spawn').Process(target=print).start()\n", python="python3"),
]
