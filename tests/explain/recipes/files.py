"""Files that are damaged, missing or not writable, and file systems that are full."""
from tests.explain.recipes.recipe import Recipe, on

SAVE = "import os, torch\ntorch.save(dict(weights=torch.zeros(1000)), os.path.expanduser('~/model.pt'))\n"
CUT = """import os, torch
path = os.path.expanduser('~/model.pt')
torch.save(dict(weights=torch.zeros(1000)), path)
os.truncate(path, 1500)
torch.load(path)
"""
CUT_SAFETENSORS = """import os, torch, safetensors.torch
path = os.path.expanduser('~/model.safetensors')
safetensors.torch.save_file(dict(weights=torch.zeros(1000)), path)
os.truncate(path, 40)
safetensors.torch.load_file(path)
"""
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
LOAD = "import sys, torch\ntorch.load(sys.argv[1], weights_only=False)\n"
RACE = "import os, time\npath = os.path.expanduser('~/checkpoint-100')\nwhile os.environ['OMPI_COMM_WORLD_RANK'] == '1' and not os.path.exists(path): time.sleep(0.1)\nos.mkdir(path)\n"
RESUME = """import os, torch
path = '/var/tmp/checkpoints/last.pt'
if os.environ['OMPI_COMM_WORLD_RANK'] == '0':
    os.makedirs(os.path.dirname(path), exist_ok=True)
    torch.save({}, path)
torch.load(path)
"""
WRITE = "with open('/scratch/metrics.bin', 'wb') as file:\n    file.write(bytes(4 << 20))\n"
SAVE_TO_SCRATCH = "import torch\ntorch.save(torch.zeros(1 << 20), '/scratch/model.pt')\n"


def scratch(options):
    """Returns (make, undo) for a file system on n2."""
    return [on("n1,n2", "mkdir -p /scratch; chmod 1777 /scratch"), on("n2", f"mount -t tmpfs -o {options} none /scratch")], [on("n2", "umount /scratch"), on("n1", "rm -rf /scratch/*")]


BOTH = "mpirun --tag-output -H n1,n2 "
RECIPES = [
    Recipe("checkpoint-corrupt-concurrent-save", "a checkpoint that is cut off", BOTH + "TORCH/python HERE/cut.py", mpi="openmpi4", files={"cut.py": CUT}, ranks=(0, 1)),
    Recipe("safetensors-file-corrupt", "a safetensors file that is cut off", BOTH + "TORCH/python HERE/cut.py", mpi="openmpi4", files={"cut.py": CUT_SAFETENSORS}, ranks=(0, 1)),
    Recipe("git-lfs-pointer-file", "a clone without Git LFS", BOTH + "TORCH/python HERE/load.py HERE/model.pt", mpi="openmpi4", files={"load.py": LOAD, "model.pt": POINTER}),
    Recipe("checkpoint-dir-race", "two ranks make one directory", "mpirun --tag-output -H n1:2 python3 HERE/race.py", undo=[on("n1", "rmdir /home/dev/checkpoint-100")], mpi="openmpi4",
           files={"race.py": RACE}, ranks=(1,)),
    Recipe("checkpoint-not-shared", "a checkpoint that only the first host has", BOTH + "TORCH/python HERE/resume.py", mpi="openmpi4", files={"resume.py": RESUME}, ranks=(1,)),
    Recipe("disk-full", "a full scratch disk", BOTH + "python3 HERE/write.py", *scratch("size=1m,mode=1777"), mpi="openmpi4", files={"write.py": WRITE}, ranks=(1,)),
    Recipe("disk-full", "a full scratch disk, for torch.save", BOTH + "TORCH/python HERE/save.py", *scratch("size=1m,mode=1777"), mpi="openmpi4", files={"save.py": SAVE_TO_SCRATCH}, ranks=(1,)),
    Recipe("disk-full", "a full scratch disk, under muster run and MPICH", "muster run -H n[1-2]:2 -- python3 HERE/write.py", *scratch("size=1m,mode=1777"), mpi="mpich",
           files={"write.py": WRITE}, explains="RUN", hosts=("n2",)),
    Recipe("read-only-file-system", "a scratch disk that is mounted read-only", BOTH + "python3 HERE/write.py", *scratch("ro"), mpi="openmpi4", files={"write.py": WRITE}, ranks=(1,)),
    Recipe("container-uid-mismatch-shared-fs", "a directory of another user", BOTH + "python3 HERE/write.py", *scratch("size=10m,mode=755,uid=4711"), mpi="openmpi4",
           files={"write.py": WRITE}, ranks=(1,)),
    Recipe("clock-skew-logs-and-mtime", "a source file from the future", "mpirun -H n2 make -C /tmp/sources all", mpi="openmpi4",
           make=[on("n2", "mkdir /tmp/sources; cd /tmp/sources; printf 'all: out\\nout: in\\n\\tcp in out\\n' > Makefile; touch -d '+2 hours' in; chmod -R a+rwX .")],
           undo=[on("n2", "rm -r /tmp/sources")]),
]
