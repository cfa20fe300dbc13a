"""A run that loses a rank or a host, or stops making progress, is started again: --max-restarts, --spares, --min-nodes, --stall-after,
--again."""
import json
import re
import time

import pytest
from tests.schemas import described
from tests.waiting import PATIENCE, patient, until

pytestmark = pytest.mark.lab

THREE = "n[1-3]"
# Runs the first words in the first attempt and the second ones in later attempts. Every rank prints which attempt it is in.
TWICE = 'echo "count $TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS"; if [ $TORCHELASTIC_RESTART_COUNT = 0 ]; then {}; else {}; fi'
# "$$" would not work, because torchrun turns it into "$".
DIES = "sh -c 'kill -9 $PPID; sleep 1000'"
TORCHRUN = ["--engine", "torchrun", "--activate", "source /opt/muster-deps/torch/bin/activate"]


@pytest.fixture(scope="module")
def module_cluster(module_lab_up, every_engine, make_cluster):
    """n4 is the spare."""
    return make_cluster(module_lab_up(hosts=4))


def program(first, later="echo done"):
    return ("sh", "-c", TWICE.format(first, later))


def record(cluster, run_id):
    return described("record", json.loads(cluster.lab.shell("launcher", f"cat ~/.local/state/muster/runs/{run_id}/record.json")))


@pytest.mark.parametrize("name", ["openmpi5", "mpich", pytest.param("torchrun", marks=pytest.mark.campaign)])
def test_a_rank_that_kills_itself(cluster, every_engine, name):
    """All ranks are started again, and all of them can see that, whatever the engine."""
    before = cluster.processes()
    flags = TORCHRUN if name == "torchrun" else []
    cluster.lab.shell("n2", "rm -f /tmp/go; mkfifo /tmp/go")
    run = cluster.start(every_engine.get(name), *flags, "--max-restarts", "2", "--",
                        *program(f"[ $RANK = 1 ] && read line < /tmp/go && {DIES}; exec sleep 1000"), hosts=THREE)
    run.wait_for("count 0", 3)
    cluster.lab.shell("n2", "timeout 60 sh -c 'echo > /tmp/go'")
    assert run.end(100) == 0, run.said()
    assert {f"[n{i + 1}:{i}] {word}" for i in range(3) for word in ("count 0 of 2", "count 1 of 2", "done")} <= set(run.out), run.said()
    assert "muster: attempt 1 of 3: rank 1 on n2 ended with signal 9 (Killed)" in run.errors, run.said()
    assert "muster: starting again on n[1-3]; TORCHELASTIC_RESTART_COUNT=1" in run.errors, run.said()
    first, second = record(cluster, run.id), record(cluster, f"{run.id}.1")
    assert "signal 9" in first["started_again"] and (second["attempt"], second["restart_of"], second["code"]) == (1, run.id, 0)
    listed = [line for line in cluster.muster("runs").stdout.splitlines() if line.startswith(run.id)]
    assert len(listed) == 1 and re.match(rf"{run.id} +ok .* n\[1-3\] +3 +2 ", listed[0]), listed
    assert "signal 9" in cluster.muster("show", run.id).stdout
    cluster.settles(before, 5)


@pytest.mark.parametrize("redirection", [">/dev/full 2>&1", ">&- 2>&-"], ids=["full", "closed"])
def test_a_run_that_cannot_print_is_started_again_and_keeps_its_files(cluster, every_engine, redirection):
    before = cluster.processes()
    words = ["muster", "run", "-H", THREE, "--max-restarts", "1", "--", *program("[ $RANK = 1 ] && exit 3; exec sleep 1000")]
    ended = cluster.lab.exec("launcher", "env", f"PATH={every_engine['openmpi5'].path}", "sh", "-c", f'exec "$@" {redirection}', "sh", *words)
    assert ended.returncode == 0, ended
    run_id = cluster.muster("runs").stdout.splitlines()[1].split()[0]
    assert record(cluster, run_id)["code"] == 3
    assert "[n2:1] count 0 of 1" in cluster.muster("logs", run_id, "--attempt", "1").stdout.splitlines()
    assert {f"[n{i + 1}:{i}] done" for i in range(3)} <= set(cluster.muster("logs").stdout.splitlines())
    cluster.settles(before, 5)


def test_a_run_that_is_stopped_before_its_restart_counts_as_stopped(cluster, every_engine):
    # The third pause is long enough to send a signal. The codes differ, so that it is no crash loop.
    run = cluster.start(every_engine["openmpi5"], "--max-restarts", "9", "--", "sh", "-c", "exit $((TORCHELASTIC_RESTART_COUNT + 4))", hosts="n1")
    run.wait_for("starting again in 4 s", lines=run.err)
    run.signal("TERM")
    assert run.end() == 143, run.said()
    listed = described("runs", json.loads(cluster.muster("runs", "--json", "--limit", "1").stdout))
    assert (listed["id"], listed["state"], listed["code"]) == (run.id, "stopped", 143), listed
    attached = cluster.muster("attach", run.id)
    assert attached.returncode == 143 and attached.stderr.endswith("muster: exit code 143 is muster's own\n"), attached.stderr


def test_a_host_without_power(cluster, every_engine):
    """One run replaces the host with a spare, and the other continues with two hosts."""
    engine = every_engine["openmpi5"]
    before = cluster.processes()
    flags = ["--lost-after", "10", "--max-restarts", "1"]
    with_spare = cluster.start(engine, *flags, "--spares", "n4", "--", *program("exec sleep 1000"), hosts=THREE)
    with_fewer = cluster.start(engine, *flags, "--min-nodes", "2", "--", *program("exec sleep 1000"), hosts=THREE)
    for run in (with_spare, with_fewer):
        run.wait_for("count 0", 3)
    cluster.lab.command("crash", "n2")
    for run in (with_spare, with_fewer):
        assert run.end(60) == 0, run.said()
        assert "attempt 1 of 2: host n2 was lost with rank 1" in run.errors, run.said()
    assert "n4 instead of n2 (lost); TORCHELASTIC_RESTART_COUNT=1" in with_spare.errors, with_spare.said()
    assert {"[n1:0] done", "[n4:1] done", "[n3:2] done"} <= set(with_spare.out), with_spare.said()
    assert "starting again on n[1,3], without n2 (" in with_fewer.errors, with_fewer.said()  # brackets: what n2 answered when muster tried it again
    assert sorted(line for line in with_fewer.out if "done" in line) == ["[n1:0] done", "[n3:1] done"], with_fewer.said()
    at_first = cluster.run(engine, "--answer-within", "8", "--spares", "n4", "--", "echo", "here", hosts=THREE)
    # Whether muster's deadline or the kernel's comes first depends on when n2's address was last used.
    assert re.search(r"n4 instead of n2 \((no answer|there is no network route)", at_first.errors), at_first.said()
    assert at_first.code == 0 and "[n4:1] here" in at_first.out, at_first.said()
    cluster.lab.command("restart", "n2")
    cluster.settles({one for one in before if one[0] != "n2"}, 10)


def test_a_host_that_boots_is_waited_for(cluster, every_engine):
    before = cluster.processes()
    run = cluster.start(every_engine["mpich"], "--lost-after", "10", "--answer-within", "8", "--max-restarts", "1", "--", *program("exec sleep 1000"),
                        hosts="n[1-2]")
    run.wait_for("count 0", 2)
    cluster.lab.command("crash", "n2")
    run.wait_for("muster: n2: .*, and no spare host is left; waiting up to 40 s for it", lines=run.err)
    cluster.lab.command("restart", "n2")
    assert run.end(60) == 0, run.said()
    assert {"[n1:0] done", "[n2:1] done"} <= set(run.out), run.said()
    cluster.settles({one for one in before if one[0] != "n2"}, 10)


def test_a_crash_loop_ends_early_with_its_cause(cluster, every_engine):
    run = cluster.run(every_engine["openmpi5"], "--max-restarts", "50", "--", "sh", "-c", "[ $RANK = 2 ] && exit 3; sleep 1000", hosts=THREE, within=60)
    assert run.code == 3, run.said()
    assert f"muster logs {run.id}.2 --rank 2" in run.ending and "crash loop: rank 2 ended with exit code 3 in 3 attempts in a row" in run.errors
    assert len([line for line in run.err if "starting again on" in line]) == 2, run.said()


def test_restarts_that_are_used_up(cluster, every_engine):
    """The verdict is that of the last attempt."""
    run = cluster.run(every_engine["openmpi5"], "--max-restarts", "1", "--", "sh", "-c", "exit $((TORCHELASTIC_RESTART_COUNT + 4))", hosts="n1")
    assert run.code == 5, run.said()
    assert "muster: 1 restart was made and no more are allowed" in run.errors and "rank 0 on n1 ended with exit code 5" in run.errors, run.said()


def test_the_timeout_is_for_all_attempts(cluster, every_engine):
    run = cluster.run(every_engine["openmpi5"], "--timeout", "30", "--max-restarts", "50", "--", *program("exit 4", "exec sleep 1000"), hosts="n1", within=40)
    assert run.code == 124 and "the time limit of 30 s passed" in run.errors, run.said()
    ended = record(cluster, f"{run.id}.1")
    assert ended["reason"] == "timeout" and ended["ended"] - record(cluster, run.id)["started"] < 30 + patient(8), ended


def test_a_stopped_rank_is_a_stall(cluster, every_engine):
    before = cluster.processes()
    run = cluster.run(every_engine["openmpi5"], "--stall-after", "10", "--max-restarts", "1", "--",
                      *program("[ $RANK = 1 ] && kill -STOP $$; exec sleep 1000"), hosts=THREE, within=60)
    assert run.code == 0, run.said()
    assert re.search(r"muster: no rank has printed anything for \d+ s\nmuster:   rank 1 \(n2\) is stopped", run.errors), run.said()
    assert re.search(r"rank 1 \(n2\) is stopped.*; starting again", run.errors), run.said()
    evidence = cluster.lab.shell("launcher", f"cat ~/.local/state/muster/runs/{run.id}/why-1/why.txt")
    assert "rank 1 (n2): state T" in evidence and "ranks 0,2 (n1, n3): state S, in sleep" in evidence, evidence
    cluster.settles(before, 5)


def test_a_progress_bar_is_a_sign_of_life(cluster, every_engine):
    """A progress bar never ends its line."""
    bar = "i=0; while [ $i -lt 60 ]; do printf '\\rstep %d' $i; sleep 0.25; i=$((i + 1)); done; echo"
    run = cluster.run(every_engine["openmpi5"], "--stall-after", "10", "--", "sh", "-c", bar, hosts="n1", within=60)
    assert run.code == 0 and "stalled" not in run.errors, run.said()


def test_a_stall_looks_at_the_program_itself(cluster, every_engine):
    """muster examines the program, not one of muster's own processes beside it."""
    run = cluster.run(every_engine["openmpi5"], "--stall-after", "10", "--", "sh", "-c", "[ $RANK != 1 ] || exec sleep 1000; while :; do :; done", hosts=THREE, within=60)
    assert run.code == 124 and "no rank has printed anything for" in run.errors, run.said()
    evidence = cluster.lab.shell("launcher", f"cat ~/.local/state/muster/runs/{run.id}/why-1/why.txt")
    assert "rank 1 (n2): state S, in sleep" in evidence, evidence
    assert len(re.findall(r": state R", evidence)) == 1 if PATIENCE == 1 else ": state R" in evidence, evidence


def test_muster_is_killed_and_the_run_started_again(cluster, every_engine):
    """The run is found by its id alone, from another folder. Nothing of the first attempt is left, and the attempt numbers continue."""
    engine = every_engine["openmpi5"]
    before = cluster.processes()
    run = cluster.start(engine, "-x", "SECRET=hush-hush", "--", *program("exec sleep 1000", "echo in $PWD with $SECRET"), hosts=THREE)
    run.wait_for("count 0", 3)
    refused = cluster.muster("run", "--again", run.id, engine=engine)
    assert refused.returncode == 2 and f"muster stop {run.id}" in refused.stderr, refused.stderr
    run.signal("KILL")
    run.end(10)
    kept = cluster.lab.shell("launcher", f"stat -c %a ~/.local/state/muster/runs/{run.id}/command.json; cat ~/.local/state/muster/runs/{run.id}/command.json")
    assert kept.startswith("600\n") and "SECRET" in kept and "hush-hush" not in kept
    missing = cluster.muster("run", "--again", run.id, engine=engine)
    assert missing.returncode == 2 and "the variable SECRET is not set on this machine" in missing.stderr, missing.stderr
    again = cluster.launch(["env", "-C", "/tmp", "SECRET=told", "muster", "run", "--again", run.id], engine)
    assert again.end(40) == 0, again.said()
    assert len([line for line in again.out if "with told" in line and "in /tmp " not in line]) == 3, again.said()
    assert record(cluster, f"{run.id}.1")["attempt"] == 1
    cluster.settles(before, 5)


def test_a_run_is_started_again_in_the_background(cluster, every_engine):
    engine = every_engine["openmpi5"]
    run = cluster.run(engine, "--", *program("exit 4", "sleep 1; echo done"), hosts="n1")
    assert run.code == 4, run.said()
    again = cluster.muster("run", "--again", "-d", engine=engine)
    assert again.stdout == f"{run.id}.1\n", again.stderr
    attached = cluster.attach(run.id)  # follows the current attempt
    assert attached.end(20) == 0 and "[n1:0] done" in attached.out, attached.said()
    assert "[n1:0] done" in cluster.muster("logs", "last").stdout
    done = cluster.muster("run", "--again", run.id, engine=engine)
    assert done.returncode == 2 and "succeeded, so there is nothing to continue" in done.stderr and "type it without --again" in done.stderr, done.stderr


def test_restarts_cost_nothing_that_stays(cluster, every_engine):
    """Compares muster's descriptors and children after the first restart and after the sixth."""
    cluster.lab.shell("n1", "rm -f /tmp/leave; mkfifo /tmp/leave")
    run = cluster.start(every_engine["openmpi5"], "--max-restarts", "6", "--back-off", "0", "--", "sh", "-c",
                        "echo at $TORCHELASTIC_RESTART_COUNT; read line < /tmp/leave; exit $((TORCHELASTIC_RESTART_COUNT + 4))", hosts="n1")
    held = []
    for attempt in range(7):
        run.wait_for(f"at {attempt}")
        held.append([len(cluster.lab.shell("launcher", f"{what}").split()) for what in (f"ls /proc/{run.owner}/fd", f"cat /proc/{run.owner}/task/*/children")])
        cluster.lab.shell("n1", "timeout 60 sh -c 'echo > /tmp/leave'")
    assert run.end(20) == 10, run.said()
    assert held[6][0] <= held[1][0] + 2 and held[6][1] <= held[1][1], held


def test_other_words_beside_again_are_refused(cluster):
    refused = cluster.muster("run", "--again", "-n", "3")
    assert refused.returncode == 2 and "cannot be changed" in refused.stderr, refused.stderr


def test_a_link_that_is_cut_and_comes_back(cluster, every_engine):
    """After a cut of 3 s, nothing happens. After a longer one, the host is lost, and its old ranks are gone before new ones start
    there."""
    before = cluster.processes()
    look = "echo $$ > /tmp/first; exec sleep 1000", "kill -0 $(cat /tmp/first) 2> /tmp/why && echo still there || echo gone"
    run = cluster.start(every_engine["openmpi5"], "--lost-after", "15", "--max-restarts", "1", "--", *program(*look), hosts=THREE)
    run.wait_for("count 0", 3)
    cluster.lab.command("cut", "n2")
    time.sleep(3)  # the length of the cut is the point of this test; TCP retries at most 6.2 s after the first loss
    cluster.lab.command("mend", "n2")
    until("n2 answers again", lambda: cluster.lab.exec("launcher", "ping", "-c1", "-W1", "n2").returncode == 0, 5)
    assert run.process.poll() is None and "attempt" not in run.errors, run.said()
    cluster.lab.command("cut", "n2")
    run.wait_for("host n2 was lost with rank 1", lines=run.err)
    cluster.lab.command("mend", "n2")
    assert run.end(60) == 0, run.said()
    assert sorted(line for line in run.out if "gone" in line or "there" in line) == [f"[n{i + 1}:{i}] gone" for i in range(3)], run.said()
    cluster.settles(before, 8)


@pytest.mark.parametrize("how", ["INT", "stop"])
def test_the_end_between_two_attempts(cluster, every_engine, how):
    run = cluster.start(every_engine["openmpi5"], "--max-restarts", "9", "--", "sh", "-c", "exit $((TORCHELASTIC_RESTART_COUNT + 4))", hosts="n1")
    run.wait_for("starting again in 4 s", lines=run.err)
    if how == "INT":
        run.signal("INT")
    else:
        assert cluster.muster("stop", run.id).returncode == 0
    assert run.end(10) == (130 if how == "INT" else 143), run.said()


def test_a_detached_run_restarts_and_is_followed(cluster, every_engine):
    engine = every_engine["openmpi5"]
    cluster.lab.shell("n1", "rm -f /tmp/go; mkfifo /tmp/go")
    started = cluster.muster("run", "-d", "-H", "n1", "--max-restarts", "1", "--", *program("read line < /tmp/go; exit 7"), engine=engine)
    assert started.returncode == 0, started.stderr
    run_id = started.stdout.strip()
    attached = cluster.attach(run_id)
    attached.wait_for("count 0")
    cluster.lab.shell("n1", "timeout 60 sh -c 'echo > /tmp/go'")
    assert attached.end(30) == 0, attached.said()
    assert [line for line in attached.out if "n1:0" in line] == ["[n1:0] count 0 of 1", "[n1:0] count 1 of 1", "[n1:0] done"], attached.said()
    assert "count 1" in cluster.muster("logs", run_id).stdout
    assert "count 0" in cluster.muster("logs", run_id, "--attempt", "1").stdout
