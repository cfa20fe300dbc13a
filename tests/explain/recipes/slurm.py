"""Slurm rejects a job or ends it."""
from tests.explain.recipes.recipe import Recipe, on

# Waits until the user's job runs. A command of the administrator follows.
WHEN_RUNNING = "i=0; until J=$(squeue -h -t R -o %i | head -n 1); [ \"$J\" ]; do sleep 0.2; i=$((i + 1)); [ $i -lt 600 ]; done; sleep 1; "
NEW_MUNGED = "kill $(cat /run/munge/munged.pid); until ! pgrep munged > /dev/null; do sleep 0.1; done; setpriv --reuid=munge --regid=munge --init-groups /usr/sbin/munged --force"
MUNGE = "/run/munge/munge.socket.2"


def slurm(id, name, command, *make, undo=(), **more):
    return Recipe(id, f"{name} (Slurm)", command, list(make), list(undo), lab="hosts=3 slurm=yes", **more)


def in_background(line):
    return on("launcher", f"{{ {WHEN_RUNNING}{line}; }} > /dev/null 2>&1 &")


RECIPES = [
    slurm("slurm-ompi-no-pmi", "Open MPI 4 without --mpi", "srun -N2 --mpi=none PROGRAM", mpi="openmpi4", follows=("slurm-task-failed",)),
    slurm("slurm-ompi-no-pmi", "Open MPI 4 with --mpi=pmi2", "srun -N2 --mpi=pmi2 PROGRAM", mpi="openmpi4"),
    slurm("all-ranks-zero", "Open MPI 5 with --mpi=pmi2", "srun -N2 --mpi=pmi2 PROGRAM", mpi="openmpi5"),
    slurm("slurm-mpi-plugin-missing", "a PMI plugin that is not there", "srun --mpi=pmix_v9 hostname"),
    slurm("slurm-allocation-refused", "a partition that does not exist", "srun -p gpu hostname"),
    slurm("slurm-allocation-refused", "a batch job for a partition that does not exist", "printf '#!/bin/sh\\ntrue\\n' > job.sh; sbatch -p gpu job.sh"),
    slurm("slurm-allocation-refused", "more memory than a node has", "srun --mem=64G hostname"),
    slurm("slurm-request-never-fits", "more nodes than there are", "timeout 5 srun -N9 hostname"),
    slurm("slurm-request-never-fits", "more CPUs than a node has", "timeout 5 srun -N1 -c 64 hostname"),
    slurm("slurm-step-creation-failed", "more tasks than the allocation has", "salloc -Q -N1 -n1 srun -n 4 hostname"),
    slurm("slurm-step-creation-failed", "more nodes than the allocation has", "salloc -Q -N1 srun -N2 hostname"),
    slurm("hosts-not-in-allocation", "mpirun on a host outside of the allocation", "salloc -Q -N1 -w n1 mpirun -np 2 -H n1,n2 hostname", mpi="openmpi5"),
    slurm("remote-exe-not-found", "a program that is nowhere", "srun -N2 ./train", follows=("slurm-task-failed",)),
    slurm("program-not-executable", "a script without its x bit", "srun -N2 HERE/train.sh", files={"train.sh": "hostname\n"}),
    slurm("slurm-cwd-missing", "a working directory that only the launcher has", "mkdir -p project; cd project; srun -N2 hostname"),
    slurm("slurm-task-failed", "a task that exits with a code", "srun -N2 sh -c 'exit $SLURM_PROCID'", says="n2"),
    slurm("slurm-time-limit", "the time limit", "srun -N2 -t 5 sleep 600", in_background("scontrol update jobid=$J EndTime=now+1"), follows=("slurm-job-killed",), within=120),
    slurm("slurm-node-failure", "a node that fails", "srun -N2 -w n1,n2 sleep 600", in_background("scontrol update nodename=n2 state=down reason=test"),
          undo=[on("launcher", "scontrol update nodename=n2 state=resume || true")], follows=("slurm-job-killed",)),
    slurm("slurm-preempted", "a job that goes back to the queue",
          "printf '#!/bin/sh\\nsrun sleep 600\\n' > job.sh; J=$(sbatch --parsable -w n1 -o /tmp/out job.sh); until squeue -h -t R -j $J | grep -q .; do sleep 0.2; done; sleep 2; "
          "scontrol requeue $J; until ssh n1 grep -q REQUEUE /tmp/out; do sleep 0.2; done; scancel $J; ssh n1 cat /tmp/out"),
    slurm("slurm-munge-not-running", "a launcher without munge", "srun hostname", on("launcher", f"mv {MUNGE} {MUNGE}.kept"), undo=[on("launcher", f"mv {MUNGE}.kept {MUNGE}")]),
    slurm("slurm-munge-key-differs", "a node with a munge key of its own", "srun -w n2 hostname",
          on("n2", "cp -p /etc/munge/munge.key /root/munge.key; head -c 1024 /dev/urandom > /etc/munge/munge.key; " + NEW_MUNGED),
          undo=[on("n2", "cat /root/munge.key > /etc/munge/munge.key; rm /root/munge.key; " + NEW_MUNGED), on("launcher", "scontrol update nodename=n2 state=resume || true")], says="n2"),
    slurm("slurm-controller-unreachable", "a controller that does not listen",
          "sed 's/^MessageTimeout.*/MessageTimeout=2/; $aSlurmctldPort=6999' /etc/slurm/slurm.conf > my.conf; SLURM_CONF=$PWD/my.conf srun hostname"),
]
