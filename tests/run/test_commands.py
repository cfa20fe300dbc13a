"""Background runs and the commands about runs; variables and input of ranks; the command that --dry-run prints."""
import hashlib
import json
import re
import subprocess
import uuid

import pytest
from tests.on_terminal import on_terminal

pytestmark = pytest.mark.lab

# Prints a line, waits for the test's signal (the file /tmp/word), prints another.
TWO_LINES = "trap '' TERM; echo early; until [ -e /tmp/word ]; do sleep 0.1; done; echo late; [ $RANK != 1 ] || exit 3"


def give_word(cluster, attached):
    """Signals the ranks, the failing rank 1 last, because its end also ends the others."""
    attached.wait_for("early", 3)
    for host in ("n1", "n3"):
        cluster.lab.shell(host, "touch /tmp/word")
    attached.wait_for("late", 2)
    cluster.lab.shell("n2", "touch /tmp/word")


@pytest.fixture
def detached(cluster, engine):
    """The id of a background run that waits for the test's signal. It was started from a script that ignores SIGINT, as
    background jobs of scripts do."""
    for host in cluster.lab.hosts:
        cluster.lab.shell(host, "rm -f /tmp/word")
    words = ["muster", "run", "--detach", "-H", cluster.all, "--", "sh", "-c", TWO_LINES]
    started = cluster.lab.exec("launcher", "env", f"PATH={engine.path}", "sh", "-c", "trap '' INT; exec \"$@\"", "sh", *words)
    assert started.returncode == 0, started.stderr
    run_id = started.stdout.strip()
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{5}", run_id), started.stdout
    return run_id


def test_attach_shows_it_from_the_first_line_and_ends_as_it_does(cluster, detached):
    attached = cluster.attach(detached)
    attached.wait_for("early", 3)
    assert f"{detached}  running " in cluster.muster("runs").stdout
    give_word(cluster, attached)
    assert attached.end() == 3, attached.said()
    assert "muster: rank 1 on n2 ended with exit code 3" in attached.errors
    assert sorted(line.split()[1] for line in attached.out if line.startswith("[")) == ["early"] * 3 + ["late"] * 3


def test_logs_of_a_rank_while_it_runs(cluster, detached):
    attached = cluster.attach(detached)
    attached.wait_for("early", 3)
    assert cluster.muster("logs", detached, "--rank", "0").stdout.splitlines() == ["early"]
    give_word(cluster, attached)
    assert attached.end() == 3, attached.said()


def test_detached_run_goes_on_alone_and_can_be_looked_at(cluster, detached):
    attached = cluster.attach(detached)
    give_word(cluster, attached)
    assert attached.end() == 3, attached.said()
    again = cluster.muster("attach", detached)  # after the run has ended
    assert again.returncode == 3 and again.stdout.splitlines() == attached.out
    listed = [line for line in cluster.muster("runs").stdout.splitlines() if line.startswith(detached)]
    assert len(listed) == 1 and " failed (3) " in listed[0] and " n[1-3]  3 " in listed[0] and "rank 1 on n2 ended with exit code 3" in listed[0]
    (shown,) = map(json.loads, cluster.muster("runs", "--json", "--limit", "1").stdout.splitlines())
    assert (shown["id"], shown["code"], shown["hosts"]) == (detached, 3, ["n1", "n2", "n3"])
    assert cluster.muster("logs", detached, "--rank", "2", "--out").stdout == "early\nlate\n"
    assert sorted(cluster.muster("logs", "last").stdout.splitlines()) == sorted(again.stdout.splitlines())
    cluster.settles(set(), 5)


def test_stop_ends_it(cluster, detached):
    attached = cluster.attach(detached)
    attached.wait_for("early", 3)
    assert cluster.muster("stop", detached).returncode == 0
    assert attached.end(5) == 143, attached.said()
    cluster.settles(set(), 5)
    over = cluster.muster("stop", detached)
    assert over.returncode == 2 and "this run has already ended" in over.stderr


# Prints numbers up to the middle, waits for the test's signal, prints the rest.
NUMBERED = """
import os, sys, time
count = int(sys.argv[1])
for i in range(count // 2): print(i)
while not os.path.exists("/tmp/word"): time.sleep(0.1)
for i in range(count // 2, count): print(i)
"""


@pytest.mark.parametrize("count", [10_000, pytest.param(1_000_000, marks=pytest.mark.campaign)])
def test_a_detached_run_survives_its_terminal_and_loses_no_line(cluster, engines, count):
    """Its terminal closes, it gets SIGHUP, and users who watch it leave with Ctrl-C. Each of them sees every line so far once."""

    def on_launcher(script, within=60):
        return cluster.lab.shell("launcher", script, timeout=within).strip()

    cluster.lab.shell("n1", "rm -f /tmp/word")
    words = ["muster", "run", "-d", "-q", "--name", "lr3", "--on-end", "cat > ~/end.json", "-H", "n1", "--", "python3", "-c", NUMBERED, str(count)]
    started = cluster.lab.exec("launcher", "env", f"PATH={engines['openmpi5'].path}", *on_terminal(*words))
    assert started.returncode == 0, started.stdout
    run_id = re.search(r"muster attach ([0-9a-f-]+)", started.stdout)[1]
    on_launcher(f"kill -HUP $(cut -d' ' -f1 ~/.local/state/muster/runs/{run_id}/owner)")
    numbers = "sed 's/^\\[n1:0\\] //; s/\\r$//' /tmp/seen | cmp - /tmp/wanted"
    for command in ("attach lr3", "logs -f"):
        on_launcher("rm -f /tmp/seen")  # or grep could find the line in the output of the previous command and end this one too early
        left = on_launcher(f"""env --default-signal=INT muster {command} > /tmp/seen 2> /tmp/said & pid=$!
            until grep -q '] {count // 2 - 1}' /tmp/seen; do sleep 0.1; done; kill -INT $pid; wait $pid; echo $?; cat /tmp/said""", within=300)
        assert left.startswith("130\n") and f"to end it: muster stop {run_id}" in left, left
        on_launcher(f"seq 0 {count // 2 - 1} > /tmp/wanted && {numbers}")
    cluster.lab.shell("n1", "touch /tmp/word")
    assert on_launcher("muster attach lr3 > /tmp/seen; echo $?", within=300) == "0"
    on_launcher(f"seq 0 {count - 1} > /tmp/wanted && {numbers} && muster logs > /tmp/seen && {numbers}")
    cluster.settles(set(), 5)
    told = json.loads(on_launcher("cat ~/end.json"))
    assert (told["id"], told["name"], told["state"], told["code"], told["hosts"]) == (run_id, "lr3", "ok", 0, ["n1"])


def test_the_printed_command_works_when_pasted(cluster, engine):
    cluster.paste_printed_command(engine)
    cluster.settles(set(), 5)


def test_variables_counts_and_activation_reach_the_ranks(cluster, engine):
    for host in cluster.lab.hosts:
        cluster.lab.write(host, f"/home/{cluster.lab.user}/activate", "export FROM=$(hostname)\nPATH=$HOME/bin:$PATH\n")
        cluster.lab.shell(host, "mkdir -p ~/bin")
        cluster.lab.write(host, f"/home/{cluster.lab.user}/bin/my-program", "#!/bin/sh\necho $FROM $GREETING $NCCL_DEBUG $RANK/$WORLD_SIZE\n", mode="755")
    environment = ["env", f"PATH={engine.path}", "NCCL_DEBUG=INFO"]
    words = [*environment, "muster", "run", "-q", "-x", "GREETING=hi there", "-N", "2", "--ppn", "2", "-H", cluster.all]
    flag = cluster.lab.exec("launcher", *words, "--activate", ". ~/activate", "--", "my-program")
    assert flag.returncode == 0, flag.stderr
    expected = [f"[n{i // 2 + 1}:{i}] n{i // 2 + 1} hi there INFO {i}/4" for i in range(4)]
    assert sorted(line.rstrip("\r") for line in flag.stdout.splitlines()) == expected

    folder = f"/home/{cluster.lab.user}/job"
    cluster.lab.shell("launcher", f"mkdir -p {folder}")
    cluster.lab.write("launcher", f"{folder}/muster.yaml", "hosts: n[1-3]:2\nactivate: . ~/activate\n")
    yaml = cluster.lab.exec("launcher", "sh", "-c", f'cd {folder} && exec "$@"', "sh", *environment, "muster", "run", "-q", "-n", "5", "--",
                            "my-program")
    assert yaml.returncode == 0, yaml.stderr
    said = sorted(line.rstrip("\r") for line in yaml.stdout.splitlines())
    assert said == [f"[n{i // 2 + 1}:{i}] n{i // 2 + 1} INFO {i}/5" for i in range(5)]


def test_muster_yaml_describes_the_job(cluster, engine):
    """muster finds the file from a subdirectory and uses a profile. Values of variables reach the ranks, but nothing that is
    stored or listed."""
    project = f"/home/{cluster.lab.user}/described"
    secrets = [uuid.uuid4().hex for _ in range(3)]
    for host in ("launcher", *cluster.lab.hosts):
        cluster.lab.shell(host, f"mkdir -p {project}/src")
    cluster.lab.write("launcher", f"{project}/job.env", f"TOKEN={secrets[0]}\nSEED=1\n", mode="600")
    cluster.lab.write("launcher", f"{project}/muster.yaml",
                      "hosts: n[1-3]\nengine: openmpi\nenv_file: job.env\nenvironment: {SEED: 2, HF_TOKEN: }\n"
                      f"profiles:\n  small: {{hosts: 'n[1-2]', ranks_per_host: 2, environment: {{WANDB_API_KEY: {secrets[1]}}}}}\n", mode="600")
    told = ("echo $RANK $SEED $(printf %s $TOKEN$WANDB_API_KEY$HF_TOKEN | sha256sum | cut -c-64) $WANDB_PROJECT ${HF_HOME:-none} $GLOO_SOCKET_IFNAME "
            "$(printf '%s\\n' $TOKEN $WANDB_API_KEY $HF_TOKEN | grep -lsaF -f - /proc/[0-9]*/cmdline | wc -l) command lines")
    environment = ["env", "-C", f"{project}/src", f"PATH={engine.path}", "WANDB_PROJECT=vision", "HF_HOME=/data", "GLOO_SOCKET_IFNAME=ens5"]
    script = ["sh", "-c", 'read HF_TOKEN; export HF_TOKEN; exec "$@"', "sh"]  # keeps the secret out of the test's command lines
    done = cluster.lab.exec("launcher", *script, *environment, "muster", "run", "-P", "small", "sh", "-c", told, input=f"{secrets[2]}\n")
    assert done.returncode == 0, done.stderr
    digest = hashlib.sha256("".join(secrets).encode()).hexdigest()
    assert sorted(line.rstrip("\r") for line in done.stdout.splitlines()) == [
        f"[n{i // 2 + 1}:{i}] {i} 2 {digest} vision none eth0 0 command lines" for i in range(4)]
    assert "not passed to the other hosts: GLOO_SOCKET_IFNAME; to pass a variable, add: -x GLOO_SOCKET_IFNAME\n" in done.stderr
    kept = "v=$(cat); echo \"$v\" | grep -rlsaF -D skip -f - ~/.local/state/muster /tmp; echo \"$v\" | grep -lsaF -f - /proc/[0-9]*/cmdline; :"
    for host in ("launcher", *cluster.lab.hosts):
        assert cluster.lab.shell(host, kept, input="\n".join(secrets)) == "", host
    assert not any(secret in cluster.muster("runs", "--json").stdout + done.stderr for secret in secrets)


def test_ranks_are_told_of_rails_or_the_first_line_says_tcp(cluster, engine):
    """The RDMA devices are fake and carry no traffic, so the ranks only print their variables."""
    show = ["--force", "--", "sh", "-c", "echo $NCCL_IB_DISABLE/$NCCL_IB_GID_INDEX/$NCCL_IB_HCA/$UCX_NET_DEVICES"]
    try:
        cluster.lab.command("break", "n[1-2]", "fake-rdma")
        tcp = cluster.run(engine, *show)
        assert tcp.code == 0, tcp.said()
        (first,) = [line for line in tcp.err if line.startswith("muster: run ")]
        assert "network 198.18.0.0/16 (TCP, although n[1-2] have RDMA), master" in first
        assert sorted(tcp.out) == [f"[n{i + 1}:{i}] 1///eth0" for i in range(3)]
        cluster.lab.command("break", "n3", "fake-rdma")
        rails = cluster.run(engine, *show)
        assert rails.code == 0, rails.said()
        assert "network 198.18.0.0/16, master" in rails.said()
        assert sorted(rails.out) == [f"[n{i + 1}:{i}] /3//mlx5_bond_0:1,eth0" for i in range(3)]
    finally:
        for host in cluster.lab.hosts:
            cluster.lab.shell(host, "! mountpoint -q /sys/class || umount /sys/class", root=True)


def test_standard_input_reaches_rank_0(cluster, engine):
    run = cluster.start(engine, "--", "sh", "-c", "read line; echo got $line", stdin=subprocess.PIPE)
    run.process.stdin.write(b"a line\n")
    run.process.stdin.flush()
    assert run.end() == 0, run.said()
    assert sorted(run.out) == ["[n1:0] got a line", "[n2:1] got", "[n3:2] got"]


def test_the_end_of_standard_input_reaches_rank_0(cluster, engines):
    """Uses Open MPI 4, because Open MPI 5.0.11 never tells a rank on another host that its input has ended, not even without muster
    (openpmix/prrte#2373)."""
    run = cluster.start(engines["openmpi4"], "--", "wc", "-c", stdin=subprocess.PIPE)
    run.process.stdin.write(b"x" * 300_000)
    run.process.stdin.close()
    assert run.end() == 0, run.said()
    assert sorted(run.out) == ["[n1:0] 300000", "[n2:1] 0", "[n3:2] 0"]


def test_a_launcher_that_comes_back_too_late_makes_nothing_anew(cluster, engine):
    """A delayed connection may reach the host after the run's warden has left and removed the folder. The agent must not make a new one."""
    assert cluster.run(engine, "--", "true").code == 0
    cluster.settles(set(), 5)  # the hosts remove the folder after `run` has returned
    before = cluster.run_folders()
    orders = '{"order":"hello","run":"20260101-000000-00000"}\n{"order":"begin","orphan_after_s":600}\n'
    # The connection outlives the orders: it ends after the agent.
    agent = ("rm -f /tmp/held; mkfifo /tmp/held; (cat; read line < /tmp/held) | "
             f"{{ /tmp/muster-{cluster.lab.uid}/*/muster agent; code=$?; echo > /tmp/held; exit $code; }}")
    late = cluster.lab.exec("n1", "sh", "-c", agent, input=orders)
    assert late.returncode == 125 and "the run has already ended on this host" in late.stdout, late
    assert cluster.run_folders() == before


def test_a_run_that_was_refused_leaves_nothing(cluster, engine):
    before = cluster.run_folders()
    assert cluster.run(engine, "--", "/nowhere/train").code == 127
    cluster.settles(set(), 5)
    assert cluster.run_folders() == before
