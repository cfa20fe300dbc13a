"""Ranks run on the CPUs near their GPUs. Fake driver files on the hosts place GPUs near some of this machine's CPUs, so no GPU is used, and
only the placement of the ranks is real."""
import json
import os
import re
import shlex
from types import SimpleNamespace

import pytest
from tests.docs.pages import take
from tests.run.conftest import Cluster, SlurmCluster
from tests.run.launchers import LAUNCHERS
from tests.waiting import patient

pytestmark = pytest.mark.lab

(NEAR_GPUS,) = take("docs/run.md", "muster run -H n[1-4] --nproc-per-node gpu ")
IN_CI = ("openmpi5", "torchrun")
BY_SSH = [pytest.param(one, id=one.name, marks=[] if one.name in IN_CI else pytest.mark.campaign)
          for one in LAUNCHERS if one.engine not in ("slurm", "pods")]
CPUS = sorted(os.sched_getaffinity(0))
FIRST, LAST = CPUS[0], CPUS[-1]
TWO_ON_EACH = {"0": str(LAST), "1": str(FIRST), "2": str(FIRST), "3": str(LAST)}
ADDRESSES = ("0000:1b:00.0", "0000:9d:00.0", "0000:c3:00.0")
SHOW_CPUS = "echo rank $RANK: $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"


def show_gpus(lab, host, *cpus):
    """Makes a host show one NVIDIA GPU per argument, near that CPU. A GPU for None is on no NUMA node."""
    script = ["mount -t tmpfs none /proc/driver", "mkdir -p /sys/bus/pci/devices", "mount -t tmpfs none /sys/bus/pci/devices", "mkdir -p /proc/driver/nvidia",
              "echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023' > /proc/driver/nvidia/version"]
    for address, near in zip(ADDRESSES, cpus):
        driver, device = f"/proc/driver/nvidia/gpus/{address}", f"/sys/bus/pci/devices/{address}"
        script += [f"mkdir -p {driver} {device}", f"printf 'Model: \\t\\t NVIDIA H100 80GB HBM3\\nBus Location: \\t {address}\\n' > {driver}/information",
                   f"echo 0x10de > {device}/vendor", f"echo 0x030200 > {device}/class", f"echo {-1 if near is None else 0} > {device}/numa_node",
                   f"echo {FIRST if near is None else near} > {device}/local_cpulist"]
    lab.shell(host, "\n".join(script), root=True)


@pytest.fixture(scope="module")
def module_cluster(module_lab_up, make_cluster):
    return make_cluster(with_gpus(module_lab_up(hosts=2)))


@pytest.fixture(scope="module")
def shared_lab(module_lab_up, slurm_shared):
    return with_gpus(module_lab_up(hosts=2, share=slurm_shared))


def with_gpus(lab):
    show_gpus(lab, "n1", LAST, FIRST)
    show_gpus(lab, "n2", FIRST, LAST, None)
    return lab


@pytest.mark.skipif(len(CPUS) < 2, reason="one CPU cannot be told from another")
@pytest.mark.parametrize("launcher", BY_SSH)
def test_each_rank_runs_on_the_cpus_near_its_gpu(cluster, launcher):
    _, _, _, _, _, each, *flags, _ = shlex.split(NEAR_GPUS)
    run = launcher.start(cluster, ["sh", "-c", SHOW_CPUS], *flags, each=each)
    assert run.end(60) == 0, run.said()
    seen = dict(re.findall(r"rank (\d): (\S+)", "\n".join(run.out)))
    everywhere = cluster.lab.shell("n2", "sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status").strip()
    assert seen == {"0": str(LAST), "1": str(FIRST), "2": str(FIRST), "3": str(LAST), "4": everywhere}, run.said()
    assert "muster did not bind this rank to CPUs: the NUMA node of its GPU 0000:c3:00.0 is not known" in run.errors, run.said()


@pytest.mark.campaign
def test_each_rank_runs_on_the_cpus_near_its_gpu_in_pods(shared_lab, slurm_shared):
    (pods,) = (one for one in LAUNCHERS if one.engine == "pods")
    run = pods.start(Cluster(shared_lab, SimpleNamespace(muster=slurm_shared / "muster")), ["sh", "-c", SHOW_CPUS], "--bind-to", "gpu", each=2)
    assert run.end(60) == 0, run.said()
    assert dict(re.findall(r"rank (\d): (\S+)", "\n".join(run.out))) == TWO_ON_EACH, run.said()


@pytest.mark.campaign
def test_each_rank_runs_on_the_cpus_near_its_gpu_under_slurm(shared_lab, slurm_shared):
    run = SlurmCluster(shared_lab, slurm_shared).run("--bind-to", "gpu", "--", "sh", "-c", SHOW_CPUS, allocate=("-N2", "--ntasks-per-node=2"), within=60)
    assert run.code == 0, run.said()
    assert dict(re.findall(r"rank (\d): (\S+)", "\n".join(run.out))) == TWO_ON_EACH, run.said()


# A fake nvidia-smi, which shows two MIG devices on the first GPU and does not list the second GPU.
MIG_TOOL = r"""#!/bin/sh
case "$1" in
--query-gpu=*)
    for field in $(echo "${1#*=}" | tr , ' '); do
        case $field in pci.bus_id) value=00000000:1B:00.0 ;; uuid) value=GPU-1 ;; mig.mode.current) value=Enabled ;; *) value='[N/A]' ;; esac
        line="$line${line:+, }$value"
    done
    echo "$line" ;;
-L) printf 'GPU 0: NVIDIA H100 (UUID: GPU-1)\n  MIG 3g.40gb     Device  0: (UUID: MIG-a)\n  MIG 3g.40gb     Device  1: (UUID: MIG-b)\n' ;;
esac
"""


def test_each_rank_gets_its_own_mig_device(cluster):
    """CUDA shows a program only the first MIG device that it is given."""
    tool = "/usr/local/bin/nvidia-smi"
    cluster.lab.shell("n1", f"cat > {tool} <<'END'\n{MIG_TOOL}END\nchmod 755 {tool}", root=True)
    (launcher,) = (one for one in LAUNCHERS if one.name == "openmpi5")
    run = cluster.run(launcher, "--engine", "openmpi", "--nproc-per-node", "gpu", "--", "sh", "-c", "echo rank $RANK: $CUDA_VISIBLE_DEVICES", hosts="n1", within=60)
    cluster.lab.shell("n1", f"rm {tool}", root=True)
    assert run.code == 0, run.said()
    assert dict(re.findall(r"rank (\d): (\S+)", "\n".join(run.out))) == {"0": "MIG-a", "1": "MIG-b"}, run.said()


def test_a_tool_that_hangs_is_reported_in_time(cluster, record_property):
    """nvidia-smi hangs because of a faulty GPU; muster still examines the host."""
    cluster.lab.shell("n1", "printf '#!/bin/sh\\nexec sleep 1000\\n' > /usr/local/bin/nvidia-smi && chmod 755 /usr/local/bin/nvidia-smi", root=True)
    within = max(5, round(patient(2.5)))  # the tool gets two fifths of it
    checked = cluster.muster("check", "-H", "n[1-2]", "--answer-within", str(within), "--json")
    cluster.lab.shell("n1", "rm /usr/local/bin/nvidia-smi", root=True)
    found = {one["id"]: one for one in map(json.loads, checked.stdout.splitlines())}
    assert checked.returncode == 0 and found["gpu-tool-fails"]["hosts"] == ["n1"], checked.stdout + checked.stderr
    assert found["gpu-tool-fails"]["evidence"] == f"nvidia-smi gave no answer within {within * 2 / 5:g} s"
    record_property("found before", "gpu-tool-fails")
