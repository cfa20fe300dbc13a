"""A real Slurm on a lab: munge everywhere, slurmctld on the launcher, slurmd on the hosts."""
import os
import time

CONFIG = """\
ClusterName=lab
SlurmctldHost=launcher
AuthType=auth/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SlurmdTimeout={patience}
{nodes}
PartitionName=lab Nodes=ALL Default=YES OverSubscribe=NO MaxTime=INFINITE State=UP
"""

# Debian's munged refuses a folder that others may write to, and runs as its own user.
START = """\
set -e
install -d -m 755 /etc/slurm /var/spool/slurmctld /var/spool/slurmd
install -d -m 755 -o munge -g munge /run/munge
install -d -m 700 -o munge -g munge /etc/munge /var/lib/munge /var/log/munge
install -m 644 "$1/slurm.conf" /etc/slurm/slurm.conf
printf 'CgroupPlugin=cgroup/v1\\nConstrainCores=no\\n' > /etc/slurm/cgroup.conf
install -m 400 -o munge -g munge "$1/munge.key" /etc/munge/munge.key
setpriv --reuid=munge --regid=munge --init-groups /usr/sbin/munged
shift
for daemon; do "$daemon"; done
"""


class Slurm:
    """Up when made; it ends with the lab. `shared` is a folder that all hosts of the lab see."""

    def __init__(self, lab, shared, cpus=2, patience=30):
        self.lab = lab
        self._write(shared / "munge.key", os.urandom(1024))
        address = {host["name"]: host["addresses"][0] for host in lab.status()["hosts"]}
        nodes = "\n".join(f"NodeName={host} NodeAddr={address[host]} CPUs={cpus} Sockets=1 CoresPerSocket={cpus} RealMemory=1000 State=UNKNOWN"
                          for host in lab.hosts)
        self._write(shared / "slurm.conf", CONFIG.format(nodes=nodes, patience=patience).encode())
        for host in ["launcher", *lab.hosts]:
            self._start(host, shared)
        self.wait_idle()

    @staticmethod
    def _write(path, content):
        path.touch(mode=0o600)
        path.write_bytes(content)

    def _start(self, host, shared):
        daemon = "slurmctld" if host == "launcher" else "slurmd"
        self.lab.exec(host, "sh", "-c", START, "sh", str(shared), daemon, root=True, check=True)

    def restart(self, host, shared):
        """After `lab restart HOST`: its daemons went with it."""
        self._start(host, shared)
        self.wait_idle()

    def wait_idle(self, within=30):
        """Until every host is free to take a job."""
        end = time.monotonic() + within
        while True:
            told = self.lab.exec("launcher", "timeout", "10", "sinfo", "-h", "-N", "-o", "%N %t")
            if sorted(told.stdout.splitlines()) == [f"{host} idle" for host in sorted(self.lab.hosts)]:
                return
            assert time.monotonic() < end, f"Slurm is not ready after {within} s: {told.stdout}{told.stderr}"
            time.sleep(0.1)
