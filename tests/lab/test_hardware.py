"""Hosts that show the hardware of known machines: inspected with the usual tools, broken, repaired, and judged by muster.

golden/PROFILE.txt has muster's results for each machine. After an intended change, rewrite the files and read the diff:

    MUSTER_WRITE_GOLDEN=1 python -m pytest -m "campaign or lab" tests/lab/test_hardware.py
"""
import os
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.lab

GOLDEN = Path(__file__).parent / "golden"
FINDING = "^(ERROR|warning|note)"
GPUS = {"aws-p5": 8, "dgx-h100": 8, "dgx-spark": 1, "hgx-roce": 8, "mi300x-roce": 8, "pod-macvlan": 2}
IN_CI = ("dgx-spark", "hgx-roce")
VARIABLES = "NCCL_|UCX_|FI_|GLOO_|MASTER_|CUDA_VISIBLE_DEVICES|HIP_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES"
# Lines that depend on the machine that runs the lab, not on the profile.
OF_THIS_MACHINE = re.compile(r"^  (engine |\d+ threads? per rank)")
# Findings that also depend on that machine: a container that cannot raise limits cannot give its hosts an unlimited memlock, and the machine
# may have few CPUs.
NOT_OF_THE_PROFILE = ("[rdma-memlock]", "[omp-threads-oversubscribed]")


def smi(lab, host, fields):
    out = lab.shell(host, f"nvidia-smi --query-gpu={fields} --format=csv,noheader,nounits")
    return [tuple(line.split(", ")) for line in out.splitlines()]


def port(lab, host, card, file):
    return lab.shell(host, f"cat /sys/class/infiniband/{card}/ports/1/{file}").strip()


def everything_shown(lab, host):
    places = "/sys/devices/pci0000:[1-9a-f]* /sys/class/infiniband /sys/bus/pci/devices /sys/module/nvidia* /proc/driver /usr/bin/nvidia-smi /dev/nvidia* /dev/infiniband"
    return lab.shell(host, f"find {places} | sort | md5sum; find {places} -type f | sort | xargs cat | md5sum; "
                           "cd /sys/class/net; readlink */device; ls /sys/devices/virtual/net; ls */mtu; "
                           "ip -4 -br address | sed 's/@if[0-9]* */ /' | sort; ps -C nv-fabricmanage -o comm= || true")


def test_a_host_looks_like_the_machine_and_breaks_like_it(lab_up):
    lab = lab_up(hosts=2, like="dgx-h100")
    assert lab.exec("n1", "test", "-e", "/.dockerenv").returncode == 1  # it looks like a machine, even if the lab runs in a container
    # The machine as nvidia-smi, ls and cat show it.
    gpus = smi(lab, "n1", "index,name,memory.total,gpu_bus_id,pcie.link.width.current,remapped_rows.pending")
    assert gpus[0] == ("0", "NVIDIA H100 80GB HBM3", "81559", "00000000:1B:00.0", "16", "No") and len(gpus) == 8
    assert lab.shell("n1", "nvidia-smi -L").startswith("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-")
    assert lab.shell("n1", "nvidia-smi nvlink -s").count("26.562 GB/s") == 8 * 18
    unknown = lab.exec("n1", "nvidia-smi", "--query-gpu=name,colour", "--format=csv")
    assert unknown.stdout == 'Field "colour" is not a valid field to query.\n\n' and unknown.returncode == 2
    assert '"name" or "gpu_name"' in lab.shell("n1", "nvidia-smi --help-query-gpu")
    assert lab.shell("n1", "ls /sys/class/infiniband").split() == sorted(f"mlx5_{i}" for i in range(12))
    assert lab.shell("n1", "basename $(readlink /sys/class/infiniband/mlx5_3/device/driver)").strip() == "mlx5_core"
    assert port(lab, "n1", "mlx5_3", "rate") == "400 Gb/sec (4X NDR)"
    assert "550.90.07" in lab.shell("n1", "cat /proc/driver/nvidia/version")
    # A fault shows on its host only. After the repair, the host looks as before.
    healthy = {host: everything_shown(lab, host) for host in ("n1", "n2")}
    for words in (["rail=3"], ["gpu-lost", "5"], ["no-fabric-manager"], ["rail-gone=mlx5_2"]):
        lab.command("break", "n2", *words)
    assert port(lab, "n2", "mlx5_5", "state") == "1: DOWN" and port(lab, "n1", "mlx5_5", "state") == "4: ACTIVE"
    lost = lab.exec("n2", "nvidia-smi")
    assert "Unable to determine the device handle for GPU5: 0000:C3:00.0: Unknown Error" in lost.stdout and lost.returncode == 255
    assert "Xid (PCI:0000:c3:00): 79" in lab.shell("n2", "cat /dev/kmsg")
    assert lab.exec("n2", "ip", "link", "show", "enp41s0f1np1").returncode != 0
    # An interface that was read before disappears from /sys too, and comes back.
    assert "enp41s0f1np1" not in lab.shell("n2", "ls /sys/class/net /sys/devices/virtual/net")
    assert everything_shown(lab, "n1") == healthy["n1"] and everything_shown(lab, "n2") != healthy["n2"]
    lab.command("mend", "n2")
    assert everything_shown(lab, "n2") == healthy["n2"]
    # The interface of a RoCE port has the address in the port's GID, and carries packets.
    gid = port(lab, "n2", "mlx5_2", "gids/3").split(":")
    address = ".".join(str(int(half, 16)) for word in gid[-2:] for half in (word[:2], word[2:]))
    assert address in lab.shell("n2", f"ip -br address show $(cat /sys/class/infiniband/mlx5_2/ports/1/gid_attrs/ndevs/3)")
    lab.shell("n1", f"ping -c1 -W10 {address}")
    refused = lab.command("break", "n2", "gpu-ecc", "8", check=False)
    assert refused.returncode == 2 and "there is no GPU '8' on a dgx-h100" in refused.stderr


def test_hardware_needs_a_profile(lab_up):
    lab = lab_up(hosts=1)
    refused = lab.command("break", "n1", "rail=0", check=False)
    assert refused.returncode == 2 and "--like dgx-h100" in refused.stderr


def folded(numbers):
    """Formats numbers as in "0-3, 8"."""
    runs = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def checked(lab, *words):
    """Returns the output of muster check, without lines that depend on this machine."""
    text = lab.exec("launcher", "muster", "check", "-H", "n[1-4]", *words, timeout=120).stdout
    lines = "\n".join(line for line in text.splitlines() if not OF_THIS_MACHINE.match(line))
    parts = [part for part in lines.split("\n\n") if not any(id in part for id in NOT_OF_THE_PROFILE)]
    return "\n\n".join(part for part in parts if not re.match(r"\d+ (error|warning)", part)).strip()


def received(lab, *words):
    """Returns the ranks' variables, one NAME=VALUE per line. If not all ranks have one, its line names those that do."""
    show = f"env | grep -E '^({VARIABLES})' | sed \"s/^/@$RANK /\""
    run = lab.exec("launcher", "muster", "run", "--force", "-H", "n[1-4]", *words, "--", "sh", "-c", show, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    ranks = {}
    for rank, variable in re.findall(r"@(\d+) (.*)", run.stdout):
        ranks.setdefault(variable, set()).add(int(rank))
    everybody = set().union(*ranks.values())
    lines = [variable if ranks[variable] == everybody else f"{variable}    (ranks {folded(ranks[variable])})" for variable in sorted(ranks)]
    return f"{len(everybody)} ranks\n" + "\n".join(lines)


def compare(name, text):
    """Compares with the golden file, or writes it."""
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("MUSTER_WRITE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text(), f"{file.name} differs; see the top of {Path(__file__).name}"


@pytest.fixture(scope="module")
def hgx(module_lab_up):
    lab = module_lab_up(hosts=4, like="hgx-roce")
    lab.open_doors()
    return lab


@pytest.mark.parametrize("profile", [pytest.param(name, marks=[] if name in IN_CI else pytest.mark.campaign) for name in GPUS])
def test_what_muster_makes_of_a_machine(lab_up, profile, request):
    if profile == "hgx-roce":
        lab = request.getfixturevalue("hgx")
    else:
        lab = lab_up(hosts=4, like=profile)
        lab.open_doors()
    words = ["--engine", "openmpi", "--nproc-per-node", str(GPUS[profile])]
    text = checked(lab, *words)
    assert not re.search(FINDING, text, re.M), text
    compare(profile, f"{profile}: 4 hosts, {GPUS[profile]} ranks on each\n\n== muster check\n\n{text}\n\n"
                     f"== variables that the ranks receive\n\n{received(lab, *words)}\n")


BREAKAGES = """rail 3,rail-errors 3,rail-firmware 3,rail-gid-moved 3,rail-gone 3,rail-init 3,rail-mtu 3,rail-no-gid 3,rail-pcie 3,rail-slow 3,
gpu-driver 535.129.03,gpu-ecc 5,gpu-lost 5,gpu-mig 5,gpu-missing 5,gpu-pcie 5,gpu-pcie-speed 5,gpu-process 5,gpu-prohibited 5,gpu-remap 5,
gpu-remap-failed 5,gpu-throttled 5,gpu-xid 5,nvlink 5,no-fabric-manager,no-peer-memory,no-persistence,driver-mismatch,smi-hangs,smi-missing""".replace("\n", "").split(",")
BREAKAGES_IN_CI = ("rail-gone 3", "gpu-ecc 5")
# What a finding must name besides the host, so that the user finds the broken part.
PART = {"rail": "mlx5_3", "gpu": "0000:c3:00.0", "nvlink": "0000:c3:00.0"}


def findings(lab):
    """Returns the findings of muster check as printed, with placeholders for process numbers and deadlines, which differ from run to run."""
    text = checked(lab, "--engine", "openmpi", "--nproc-per-node", "8")
    text = re.sub(r"within \d+ s", "within N s", re.sub(r"process \d+", "process PID", text))
    return [part for part in text.split("\n\n") if re.match(FINDING, part)]


def found(lab, breakage):
    """Breaks n2 in this way, repairs it, and returns what muster found, in the form of a section of the golden file."""
    lab.command("break", "n2", *breakage.split())
    parts = findings(lab)
    lab.command("mend", "n2")
    return f"== {breakage}\n\n" + "".join(f"{part}\n\n" for part in parts or ["(no finding)"])


def record(record_property, breakage, section):
    for id in re.findall(r"\[([a-z0-9-]+)\]$", section, re.M):
        record_property("found before", f"{id} | lab break {breakage}")


def names_the_part(breakage, section):
    kind = breakage.partition("-")[0].split()[0]
    is_of_host = breakage.split()[0] in ("gpu-driver", "driver-mismatch") or kind in ("no", "smi")
    return re.search(FINDING + r" +n2 ", section, re.M) is not None and (is_of_host or PART[kind] in section)


@pytest.mark.campaign
def test_what_muster_finds_broken(hgx, record_property):
    """Makes each failure on n2, one after the other. After the repair, no finding is left."""
    known = hgx.command("break", "--help").stdout.partition("On hosts that show hardware")[2].partition("Examples:")[0]
    assert sorted(re.findall(r"^  ([a-z-]+) ", known, re.M)) == sorted(breakage.split()[0] for breakage in BREAKAGES)
    sections = {breakage: found(hgx, breakage) for breakage in BREAKAGES}
    assert findings(hgx) == []
    compare("breakages", "hgx-roce: 4 hosts; each failure on n2 alone, and what muster check then finds\n\n" + "".join(sections.values()))
    assert not any(re.search(FINDING + r" +(?! |n2 )", section, re.M) for section in sections.values()), "a healthy host is blamed"
    assert sum(names_the_part(breakage, section) for breakage, section in sections.items()) >= 20
    for breakage, section in sections.items():
        record(record_property, breakage, section)


@pytest.mark.parametrize("breakage", BREAKAGES_IN_CI)
def test_a_broken_part_is_found_as_the_golden_file_says(hgx, breakage, record_property):
    section = found(hgx, breakage)
    assert names_the_part(breakage, section)
    assert section in (GOLDEN / "breakages.txt").read_text()
    record(record_property, breakage, section)
