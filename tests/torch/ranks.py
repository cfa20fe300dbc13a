"""Starts a program on several ranks of this machine, with no launcher in between."""
import os
import socket
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TORCH_PYTHON = Path(os.environ.get("MUSTER_DEPS", "/opt/muster-deps")) / "torch/bin/python"


def program(name):
    """A test program of the build that $MUSTER belongs to."""
    build = Path(os.environ.get("MUSTER", ROOT / "build/release/bin/muster")).resolve().parent.parent
    path = build / "tests/torch" / name
    assert path.exists(), f"{path} is not built; configure with -DMUSTER_TRAINING=ON and build"
    return path


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run_ranks(argv, size, timeout=90):
    """The standard output of each rank; all must end well. Nothing is left running."""
    base = {**os.environ, "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo"}
    ranks = [subprocess.Popen([str(word) for word in argv], env={**base, "RANK": str(rank), "LOCAL_RANK": str(rank)}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(size)]
    try:
        ends = [one.communicate(timeout=timeout) for one in ranks]
    finally:
        for one in ranks:
            one.kill()
            one.wait()
    for rank, (one, (out, err)) in enumerate(zip(ranks, ends)):
        assert one.returncode == 0, f"rank {rank} ended with {one.returncode}:\n{out}{err}"
    return [out for out, _ in ends]
