"""Real Slurm daemons for a lab: munge, slurmctld and slurmd."""
import os

from tests.waiting import until

SLURM_CONF = """\
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
SlurmdTimeout=120
MessageTimeout=60
BatchStartTimeout=120
KillWait=600
{nodes}
PartitionName=lab Nodes=ALL Default=YES OverSubscribe=NO MaxTime=INFINITE State=UP
"""

# Debian's munged rejects a folder that others may write to, and runs as its own user.
SLURM_START = """\
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


def crashed_as_open_mpi_does(code, errors):
    """Returns whether a run ended because of a bug of Open MPI under srun, which Open MPI's own report shows. On a busy machine, a
    message from a rank that has left MPI_Init crashes a rank that is still in it (docs/slurm.md). Tests then repeat the run."""
    words = ("mca_pml_ob1_recv_frag_callback_match+0x",  # 5.0.11
             "Failing at address: (nil)", "Open MPI failed to TCP connect to a peer MPI process")  # 4.1.4
    return code == 139 and "*** Process received signal ***" in errors and any(one in errors for one in words)


class Slurm:
    """munge on all hosts, slurmctld on the launcher, slurmd on the other hosts. They run when the constructor returns, and end with the
    lab. All hosts see the folder `shared`."""

    def __init__(self, lab, shared, cpus=2):
        self.lab = lab
        self._write(shared / "munge.key", os.urandom(1024))
        address = {host["name"]: host["addresses"][0] for host in lab.status()["hosts"]}
        nodes = "\n".join(f"NodeName={host} NodeAddr={address[host]} CPUs={cpus} Sockets=1 CoresPerSocket={cpus} RealMemory=1000 State=UNKNOWN"
                          for host in lab.hosts)
        ipv6 = "CommunicationParameters=EnableIPv6\n" if ":" in address["launcher"] else ""
        self._write(shared / "slurm.conf", SLURM_CONF.format(nodes=ipv6 + nodes).encode())
        for host in ["launcher", *lab.hosts]:
            self.start(host, shared)
        self.wait_idle()

    @staticmethod
    def _write(path, content):
        path.touch(mode=0o600)
        path.write_bytes(content)

    def start(self, host, shared):
        """Starts the daemons of a host: at first, and again after `lab restart HOST`."""
        daemon = "slurmctld" if host == "launcher" else "slurmd"
        self.lab.exec(host, "sh", "-c", SLURM_START, "sh", str(shared), daemon, root=True, check=True)

    def states(self):
        return sorted(self.lab.exec("launcher", "timeout", "10", "sinfo", "-h", "-N", "-o", "%N %t").stdout.splitlines())

    def wait_over(self, job, within=30):
        until(f"job {job} is over", lambda: not self.lab.exec("launcher", "squeue", "-h", "-j", job).stdout, within)

    def wait_idle(self, within=30):
        """Waits until every host is free to take a job."""
        until("every host is idle", lambda: self.states() == [f"{host} idle" for host in sorted(self.lab.hosts)], within)
