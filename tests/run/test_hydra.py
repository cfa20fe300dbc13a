"""Features of hydra (MPICH and Intel MPI), on hosts with different interface names, the same docker0 address, and names that resolve to
127.0.1.1."""
import os
import subprocess
from copy import copy

import pytest

pytestmark = pytest.mark.lab

STUBBORN = "trap '' TERM INT; setsid sleep 1000 & echo up; while :; do sleep 1; done"
INTERFACES = {"n1": "ens5", "n2": "eno1", "n3": "eth0"}


@pytest.fixture(scope="module")
def module_cluster(module_lab_up, make_cluster, every_engine):
    lab = module_lab_up(hosts=3, nic_names="eth0,ens5,eno1")
    for what in ("docker0", "loopback-name"):
        lab.command("break", "n[1-3]", what)
    return make_cluster(lab)


@pytest.fixture(params=["mpich", "intel"])
def engine(request, every_engine):
    return every_engine[request.param]


def test_ranks_meet(cluster, engine):
    run = cluster.run(engine, "--nproc-per-node", "2", "--", engine.pi)
    assert run.code == 0, run.said()
    assert f"6 ranks on n[1-3], {engine.called}" in run.errors
    right = sorted(line for line in run.out if "pi is" in line)
    assert right == [f"[n{i // 2 + 1}:{i}] pi is right on rank {i} of 6" for i in range(6)]
    assert cluster.muster("logs", run.id, "--rank", "5").stdout.splitlines()[-1] == "pi is right on rank 5 of 6"


def test_it_need_not_be_the_first_in_path(cluster, engine, every_engine):
    """muster uses the program's own launcher, or the one that the user names."""
    other = copy(every_engine["openmpi5"])
    run = cluster.run(other, "--", engine.pi)
    assert run.code == 0 and engine.called in run.errors, run.said()
    other.path += f":{engine.path}"
    asked = cluster.run(other, "--engine", engine.name, "--", "sh", "-c", "echo $PMI_SIZE")
    assert asked.code == 0 and engine.called in asked.errors, asked.said()
    assert sorted(asked.out) == [f"[n{i + 1}:{i}] 3" for i in range(3)]


def test_what_reaches_the_ranks(cluster, engine):
    """Five ranks need a host file. The folder exists on no host, so the ranks start in the home folder. Only named variables of the
    launcher's environment arrive, and no rank is bound to a core."""
    names = ("RANK", "LOCAL_WORLD_SIZE", "GREETING", "SECOND", "NCCL_DEBUG", "LEFT_HERE", "FI_TCP_IFACE", "UCX_NET_DEVICES")
    program = f"import os; print('|'.join([*(os.environ.get(n, '-') for n in {names}), str(len(os.sched_getaffinity(0))), os.getcwd(), os.environ['PATH'][:4]]))"
    cluster.lab.shell("launcher", "mkdir -p ~/only-here")
    words = ["env", "-C", f"/home/{cluster.lab.user}/only-here", f"PATH={engine.path}", "NCCL_DEBUG=INFO", "LEFT_HERE=1", "muster", "run", "-q", "-H", cluster.all, "-x", "GREETING=it's, a=b",
             "-x", "SECOND=2", "-n", "5", "--ppn", "2", "--", "/usr/bin/python3", "-c", program]
    done = cluster.lab.exec("launcher", *words)
    assert done.returncode == 0, done.stderr
    cpus = len(os.sched_getaffinity(0))
    assert sorted(done.stdout.splitlines()) == [
        f"[{host}:{rank}] {rank}|{size}|it's, a=b|2|INFO|-|{INTERFACES[host]}|{INTERFACES[host]}|{cpus}|/home/{cluster.lab.user}|/usr"
        for rank, (host, size) in enumerate([("n1", 2), ("n1", 2), ("n2", 2), ("n2", 2), ("n3", 1)])]


def test_standard_input_and_its_end_reach_rank_0(cluster, engine):
    """Other ranks' input is at its end; hydra alone would leave it open for ever. MPICH's proxy fails if more than a pipe's 64 KiB wait
    for the rank. Intel's mpiexec fails if a host has ended before all input is sent, so the other ranks stay until rank 0 has read it."""
    size = 300_000 if engine.name == "intel" else 60_000
    run = cluster.start(engine, "--", "sh", "-c", "wc -c; [ $RANK = 0 ] || until rm ~/read 2>/dev/null; do sleep 0.1; done", stdin=subprocess.PIPE)
    run.process.stdin.write(b"x" * size)
    run.process.stdin.close()
    run.wait_for(str(size), 1)
    for host in ("n2", "n3"):
        cluster.lab.shell(host, "touch ~/read")
    assert run.end() == 0, run.said()
    assert sorted(run.out) == [f"[n1:0] {size}", "[n2:1] 0", "[n3:2] 0"]


def test_a_failed_rank_and_signals_leave_nothing(cluster, engine):
    before = cluster.processes()
    failed = cluster.run(engine, "--", "sh", "-c", "ulimit -c 0; [ $RANK = 1 ] || exec sleep 1000; kill -SEGV $$")
    assert failed.code == 139 and "muster: rank 1 on n2 ended with signal 11" in failed.errors, failed.said()
    cluster.settles(before, 5)
    for name, code in (("INT", 130), ("KILL", 137)):
        run = cluster.start(engine, "--", "sh", "-c", STUBBORN)
        run.wait_for("up", 3)
        run.signal(name)
        cluster.settles(before, 5)
        assert run.end(5) == code, run.said()


def test_the_printed_command_works_when_pasted(cluster, engine):
    cluster.paste_printed_command(engine)
    cluster.settles(set(), 5)
