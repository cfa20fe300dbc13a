"""The facts of a host that has so many problems that findings and decisions show the user every text in them."""
from tests.run.hostile import CANARY

LIBRARY = {"path": "/usr/lib/libmpi.so", "hash": "4b6f3aa5b3d0fe5c3cfb10dd2bddfd3c", "bytes": 1}


def interface(name, kind, *addresses):
    return {"name": name, "kind": kind, "up": True, "mtu": 1500, "speed_mbit": 10000, "addresses": [{"ip": ip, "prefix": prefix} for ip, prefix in addresses]}


FACTS = {
    "host": "n2", "hostname": "n2", "uid": 1001, "user": "dev", "home": "/home/dev", "folder_exists": False, "os": "Debian", "kernel": "6",
    "cpu": {"architecture": "x86_64", "model": "m", "isa": ["avx"], "cores": 2, "usable": 2, "numa_nodes": 1, "affinity": "0-1"},
    "memory_bytes": 25274793984,
    "interfaces": [interface("lo", "loopback", ("127.0.0.1", 8), ("::1", 128)), interface("eth0", "port", ("198.18.1.2", 16), ("fe80::ff:fe00:2", 64)),
                   interface("docker0", "virtual", ("172.17.0.1", 16))],
    "routes": [{"destination": "198.18.0.0/16", "interface": "eth0", "gateway": "198.18.0.9", "metric": 0}],
    "own_name_resolves_to": ["127.0.1.1"],
    "rdma": [{"device": "mlx5_0", "port": 1, "active": True, "link_layer": "Ethernet", "rate": "100 Gb/sec (4X EDR)",
              "gids": [{"index": 3, "gid": "0000:0000:0000:0000:0000:ffff:c612:0102", "type": "RoCE v2", "interface": "eth0"}],
              "physical_state": "LinkUp", "driver": "mlx5_core", "pci_address": "0000:1a:00.0", "numa_node": 0, "interfaces": ["eth0"],
              "firmware": "20.39.1002", "board": "MT_0000000224"}],
    "gpus": [{"index": 0, "vendor": "NVIDIA", "model": "NVIDIA H100", "pci": "0000:18:00.0", "uuid": "GPU-1", "problem": "", "numa_node": 0, "cpus": "0-1",
              "memory_bytes": 1 << 36, "memory_used_bytes": 1 << 32, "pcie_width": 8, "pcie_width_max": 16, "pcie_gen_max": 5, "ecc_uncorrected": 1,
              "remap_pending": True, "remap_failed": True, "retired_pages_pending": True, "throttled_by": ["hw_slowdown"], "mig": True,
              "mig_devices": [{"profile": "1g.10gb", "uuid": "MIG-1"}], "persistence": True, "compute_mode": "Prohibited", "fabric_state": "In Progress",
              "processes": [{"pid": 7, "user": "root", "command": "python", "memory_bytes": 1}], "nvlinks_up": 17, "nvlinks_down": 1,
              "xids": [{"code": 79, "count": 1, "seconds_ago": 5.0}]}],
    "peer_memory": {"module": "nvidia_peermem", "dmabuf": None},
    "gpu_drivers": {"nvidia": "535.129.03", "cuda": "12.2", "amd": "6.8", "rocm": "6.2", "nvswitches": 4, "fabric_manager": False},
    "limits": {"nofile": {"soft": 64, "hard": 64}, "memlock": {"soft": 65536, "hard": 65536}, "nproc": {"soft": 10, "hard": 10}},
    "shm_bytes": 64, "shm_free_bytes": 64, "clock_s": 1.5, "port_range_first": 32768, "port_range_last": 60999,
    "listeners": [{"port": 29500, "address": "0.0.0.0", "pid": 77, "user": "root", "command": "python"}],
    "ssh_files": [{"path": "/home/dev", "mode": 511, "uid": 1001, "problem": "others may write"},
                  {"path": "/home/dev/.ssh/id_rsa", "mode": 511, "uid": 1001, "problem": "others may read"}],
    "mpi": [{"kind": "openmpi", "version": "4.0.1", "launcher": "/usr/bin/mpirun", "library": LIBRARY},
            {"kind": "mpich", "version": "5.0.1", "launcher": f"{CANARY}/bin/mpirun", "library": LIBRARY}],
    "torch": {"torchrun": f"{CANARY}/bin/torchrun", "version": "2.12.0", "threads": 2, "uses_gpus": True, "cuda": "13.0", "rocm": "", "nccl": "2.21.5",
              "ofi_plugin": "1.13"},
    "program": {"name": "sh", "path": "/usr/bin/sh", "executable": True, "identity": {"path": "/usr/bin/sh", "hash": "7f569d72c9f11fa189a31afea8c3597b", "bytes": 5},
                "libmpi": LIBRARY, "libmpi_kind": "mpich", "libmpi_version": "3.9", "missing_libraries": ["libfoo.so"],
                "missing_interpreter": f"{CANARY}/bin/sh", "only_in_folder": False, "torch": "2.11", "torch_folder": "/torch"},
    "script": {"name": "t.py", "path": "/home/dev/t.py", "files": {"foo.py": "7858ef011ea0bad1384868fba0c21fdc"}, "complete": True},
    "environment": {"activated": True, "failure": "no", "seen": {"PATH": f"{CANARY}/bin:/usr/bin:/bin", "VIRTUAL_ENV": CANARY},
                    "digest": {"PATH": "8be5300e91fc19245c50f96ec666fff6", "PS1": "710c79455f01e387251a5965373e5e76"},
                    "settings": {"NCCL_ALGO": "tree"}},
    "not_seen": [{"what": "own_name", "why": "cannot start"}],
}
# Keys whose values come from a fixed set. muster rejects other values.
CHOSEN_WORDS = ("kind", "link_layer", "type")


def leaves(value, path=()):
    """Yields (PATH, VALUE) of every value that is neither a list nor an object."""
    if not isinstance(value, (dict, list)):
        yield path, value
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(inner, (*path, key))


def texts():
    """Returns (PATH, VALUE) of every free text."""
    return [(path, value) for path, value in leaves(FACTS) if isinstance(value, str) and path[-1] not in CHOSEN_WORDS]
