"""This machine as a host: its ranks start without ssh, and without a host list it is the only host.

ssh to the lab's launcher fails, because none of the user's keys is installed there, and its host key is
not pinned.
"""
from pathlib import Path

import pytest
from tests.run.launchers import ACTIVATE_TORCH

pytestmark = pytest.mark.lab

TORCHRUN = ["--engine", "torchrun", "--activate", ACTIVATE_TORCH]
MPIS = [pytest.param("openmpi4", marks=pytest.mark.campaign), "openmpi5", "mpich", "intel"]


@pytest.fixture(scope="module")
def module_cluster(module_lab_up, make_cluster, every_engine):
    return make_cluster(module_lab_up(hosts=1))


@pytest.fixture(params=MPIS)
def engine(request, every_engine):
    return every_engine[request.param]


def run_here(cluster, engine, *words, within=30):
    """Starts muster run without a host list."""
    run = cluster.launch(["muster", "run", *words], engine)
    run.code = run.end(within)
    return run


def address_of_launcher(cluster):
    (addresses,) = [host["addresses"] for host in cluster.lab.status()["hosts"] if host["name"] == "launcher"]
    return addresses[0].split("/")[0]


def test_without_hosts_ranks_meet_here(cluster, engine):
    before = cluster.processes()
    run = run_here(cluster, engine, "-n", "2", "--", engine.pi)
    assert run.code == 0, run.said()
    assert f"2 ranks on localhost, {engine.called}" in run.errors and "network 127.0.0.0/8, master 127.0.0.1:" in run.errors, run.said()
    assert sorted(line for line in run.out if "pi is" in line) == [f"[localhost:{i}] pi is right on rank {i} of 2" for i in range(2)]
    cluster.settles(before, 5)


def test_values_stand_in_no_command_line(cluster, every_engine):
    """Values of variables are kept off command lines, in whatever form they are given: after another
    short flag, or as srun users write it."""
    program = "echo $A $B; grep -lsa hus[h]-hush /proc/[0-9]*/cmdline; true"
    run = run_here(cluster, every_engine["mpich"], "-n", "1", "-qx", "A=hush-hush", "--export=B=hush-hush", "--", "sh", "-c", program)
    assert run.code == 0 and run.out == ["[localhost:0] hush-hush hush-hush"], run.said()


def test_ranks_get_a_path_and_a_home_that_the_engine_does_not_use(cluster, engine):
    """The PATH of the ranks affects muster neither here nor on another host, although it contains no
    mpirun and no ssh."""
    run = cluster.run(engine, "-x", "PATH=/nowhere", "-x", "HOME=/nowhere/home", "--", "/bin/sh", "-c", "echo $PATH $HOME", hosts="localhost,n1")
    assert run.code == 0, run.said()
    assert sorted(line for line in run.out if "nowhere" in line) == ["[localhost:0] /nowhere /nowhere/home", "[n1:1] /nowhere /nowhere/home"], run.said()


def test_no_network_and_no_key_are_needed(lab_up, every_engine):
    """The machine has no network, and `muster setup` was never run on it."""
    lab = lab_up(hosts=1)
    lab.shell("launcher", "for one in /sys/class/net/*; do [ ${one##*/} = lo ] || ip link set ${one##*/} down; done", root=True)
    for engine in every_engine.values():
        done = lab.exec("launcher", "env", f"PATH={engine.path}", "muster", "run", "-n", "2", engine.pi)
        assert done.returncode == 0, done.stderr
        assert sorted(line for line in done.stdout.splitlines() if "pi is" in line) == [f"[localhost:{i}] pi is right on rank {i} of 2" for i in range(2)]
    assert "No such file" in lab.exec("launcher", "ls", f"/home/{lab.user}/.ssh/muster").stderr


def test_a_script_trains_here_as_torchrun_would(cluster):
    """A first try without hosts, with only the number of ranks as a flag, in an activated environment."""
    cluster.lab.write("launcher", f"/home/{cluster.lab.user}/train.py", (Path(__file__).parent / "programs/train_ddp.py").read_text())
    before = cluster.processes()
    run = cluster.launch(["bash", "-c", f"cd && {ACTIVATE_TORCH} && exec muster run -n 2 train.py"])
    assert run.end(90) == 0, run.said()
    trained = sorted(line for line in run.out if "weights" in line)
    assert [line.split(" weights ")[0] for line in trained] == [f"[localhost:{i}] rank {i} of 2 on launcher local {i}" for i in range(2)], run.said()
    assert len({line.split(" weights ")[1] for line in trained}) == 1, run.said()
    assert "torchrun" in run.errors and "network 127.0.0.0/8" in run.errors, run.said()
    cluster.settles(before, 5)


def test_it_may_be_one_of_the_hosts(cluster, engine):
    before = cluster.processes()
    run = cluster.run(engine, "--nproc-per-node", "2", "--", engine.pi, hosts="localhost,n1")
    assert run.code == 0, run.said()
    assert sorted(line for line in run.out if "pi is" in line) == [
        f"[{host}:{rank}] pi is right on rank {rank} of 4" for host, ranks in (("localhost", (0, 1)), ("n1", (2, 3))) for rank in ranks], run.said()
    cluster.settles(before, 5)


def test_torchrun_meets_other_hosts_from_here(cluster):
    run = cluster.run(None, *TORCHRUN, "--", "sh", "-c", "echo $RANK of $WORLD_SIZE on $(hostname)", hosts="n1,localhost", within=60)
    assert run.code == 0, run.said()
    assert sorted(run.out) == ["[localhost:1] 1 of 2 on launcher", "[n1:0] 0 of 2 on n1"], run.said()


@pytest.mark.parametrize("name", ["launcher", "its address", "127.0.0.1"])
def test_it_is_known_by_its_other_names(cluster, every_engine, name):
    name = address_of_launcher(cluster) if name == "its address" else name
    run = cluster.run(every_engine["mpich"], "--", "sh", "-c", "echo $RANK of $WORLD_SIZE on $(hostname)", hosts=f"n1,{name}")
    assert run.code == 0, run.said()
    assert sorted(run.out) == sorted(["[n1:0] 0 of 2 on n1", f"[{name}:1] 1 of 2 on launcher"]), run.said()


def test_check_and_exec_need_no_ssh_here(cluster, engine):
    for hosts in ([], ["-H", "localhost"]):
        checked = cluster.muster("check", *hosts, engine=engine)
        assert checked.returncode == 0 and checked.stdout.startswith("1 of 1 hosts answered\n"), checked.stdout + checked.stderr
    said = cluster.muster("exec", "-H", "localhost,n1", "--", "hostname; pwd").stdout
    home = f"/home/{cluster.lab.user}"
    assert said == f"--- localhost ---\nlauncher\n{home}\n--- n1 ---\nn1\n{home}\n"


def test_it_is_named_once(cluster):
    twice = cluster.run(None, "--", "true", hosts="localhost,launcher")
    assert twice.code == 2 and "localhost and launcher are both names of this machine" in twice.errors, twice.said()


def test_another_user_logs_in(cluster):
    """-u names another user, so muster uses ssh, which fails here."""
    other = cluster.muster("exec", "-u", "nobody", "-H", "localhost", "--", "true")
    assert other.returncode == 4, other.stderr


def test_a_rank_that_fails_here_is_named(cluster, engine):
    before = cluster.processes()
    run = cluster.run(engine, "--", "sh", "-c", "[ $RANK = 0 ] && { echo oops >&2; exit 3; }; exec sleep 1000", hosts="localhost,n1")
    assert run.code == 3 and "muster: rank 0 on localhost ended with exit code 3" in run.errors, run.said()
    assert cluster.muster("logs", run.id, "--rank", "0", "--err").stdout == "oops\n"
    cluster.settles(before, 5)


@pytest.mark.parametrize("hosts", [[], ["-H", "localhost,n1"]], ids=["alone", "with-n1"])
def test_an_interrupt_leaves_nothing_behind(cluster, engine, hosts):
    before = cluster.processes()
    run = cluster.launch(["muster", "run", *hosts, "-n", "2", "--", "sh", "-c", "sleep 1001 & echo up; exec sleep 1000"], engine)
    run.wait_for("up", 2)
    run.signal("INT")
    assert run.end() == 130, run.said()
    cluster.settles(before, 5)


def test_an_interrupt_of_torchrun_leaves_nothing_behind(cluster):
    before = cluster.processes()
    run = cluster.launch(["muster", "run", *TORCHRUN, "-n", "2", "--", "sh", "-c", "sleep 1001 & echo up; exec sleep 1000"])
    run.wait_for("up", 2, within=60)
    run.signal("INT")
    assert run.end() == 130, run.said()
    cluster.settles(before, 5)


def test_a_killed_muster_leaves_nothing_behind(cluster, engine):
    """The keeper and this machine's warden outlive muster and clean up."""
    before = cluster.processes()
    run = cluster.launch(["muster", "run", "-n", "2", "--", "sh", "-c", "echo up; exec sleep 1000"], engine)
    run.wait_for("up", 2)
    run.signal("KILL")
    run.end()
    cluster.settles(before, 20)


def test_a_master_of_an_earlier_job_leads_nowhere(cluster, every_engine):
    """MASTER_ADDR and MASTER_PORT are exported in the shell, as tutorials advise. muster replaces them."""
    run = cluster.launch(["env", "MASTER_ADDR=198.18.9.9", "MASTER_PORT=1", "muster", "run", "-n", "2", "--", "sh", "-c", "echo at $MASTER_ADDR"], every_engine["openmpi5"])
    assert run.end(30) == 0, run.said()
    assert sorted(run.out) == ["[localhost:0] at 127.0.0.1", "[localhost:1] at 127.0.0.1"], run.said()


def test_a_port_of_its_own_is_another_machine(cluster):
    """With --port, muster connects to localhost by ssh, because a container's sshd or a tunnel may listen there. Here nothing does."""
    done = cluster.muster("exec", "-H", "localhost", "--port", "2222", "--", "true")
    assert done.returncode == 4 and "localhost: nothing listens on its ssh port" in done.stderr, done.stderr
