"""Limits of a login or of a host."""
from tests.explain.recipes.recipe import Recipe

OPEN = "files = [open('/etc/hostname') for _ in range(100)]\n"
THREADS = "import threading, time\nfor _ in range(100):\n    threading.Thread(target=time.sleep, args=(3,), daemon=True).start()\n"


def on_second_rank(before, script):
    """Returns a command of Open MPI that runs the script on two ranks. `before` sets a limit for rank 1."""
    return f"mpirun --tag-output -H n1,n2 bash -c 'test $OMPI_COMM_WORLD_RANK = 0 || {before}; exec python3 HERE/{script}'"


# ud2 on x86, and 0 on arm64: instructions that no CPU supports.
NEW_INSTRUCTION = """import ctypes, mmap, platform
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes([15, 11]) if platform.machine() == "x86_64" else bytes(4))
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
"""

RECIPES = [
    Recipe("mixed-cpu-isa", "a rank with an instruction that its CPU lacks", "mpirun --tag-output -H n1,n2 python3 HERE/new.py", files={"new.py": NEW_INSTRUCTION}, mpi="openmpi5"),
    Recipe("nofile-limit", "a rank that opens more files than it may", on_second_rank("ulimit -n 64", "open.py"), files={"open.py": OPEN}, mpi="openmpi5", ranks=(1,)),
    Recipe("nofile-limit", "a rank of muster run that opens more files than it may", "muster run -H n[1-3] -- bash -c 'test $RANK != 2 || ulimit -n 64; exec python3 HERE/open.py'",
           files={"open.py": OPEN}, mpi="openmpi5", explains="RUN", ranks=(2,), hosts=("n3",)),
    Recipe("nproc-limit", "a rank that starts more threads than it may", on_second_rank("ulimit -u 20", "threads.py"), files={"threads.py": THREADS}, mpi="openmpi5", ranks=(1,)),
    Recipe("host-memory-allocation-failed", "a rank that allocates more memory than it may", on_second_rank("ulimit -v 500000", "allocate.py"),
           files={"allocate.py": "shard = bytearray(1 << 30)\n"}, mpi="openmpi5", ranks=(1,)),
]
