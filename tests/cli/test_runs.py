"""The commands about runs. The run is simulated: it has a process and a folder, but no hosts."""
import fcntl
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from tests.on_terminal import on_terminal
from tests.schemas import described
from tests.waiting import patient, until

pytestmark = pytest.mark.smoke

RUN = "20260101-000000-00000"
WAIT = ("sh", "-c", "echo ready; exec sleep 1000")


class Runs:
    """The runs of a user."""

    def __init__(self, muster, state):
        self.muster, self.folder = muster, state / "muster/runs"
        self.env = {**os.environ, "XDG_STATE_HOME": str(state)}

    def add(self, run_id, lines=(), owner=None, **record):
        """Adds a run whose ranks printed these (seconds ago, "out" or "err", text). If `record` is given, the run has ended."""
        folder = self.folder / run_id
        folder.mkdir(parents=True)
        orphan_after = record.pop("orphan_after", 60)
        if owner:
            (folder / "owner").write_text(owner)
        for name in ("out", "err", "order"):
            (folder / name).touch()
        now = time.time()
        about = {"schema": 1, "id": run_id, "name": record.pop("name", ""), "command": "./train", "engine": "Open MPI 5.0.11", "started": now - 100,
                 "hosts": ["n1", "n2"], "ranks": 2, "orphan_after": orphan_after}
        (folder / "about.json").write_text(json.dumps(about))
        for ago, stream, text in lines:
            self.print(run_id, stream, text, now - ago)
        if record:
            self.end(run_id, **record)
        return folder

    def print(self, run_id, stream, text, when=None):
        with open(self.folder / run_id / stream, "a") as file:
            file.write(text)
        with open(self.folder / run_id / "order", "a") as order:
            order.write(f"{when or time.time():.3f} {stream} {(self.folder / run_id / stream).stat().st_size}\n")

    def end(self, run_id, code=0, verdict="", started_again="", ended=None, **more):
        ranks = [{"rank": i, "host": f"n{i + 1}", "end": f"exit code {code if i else 0}"} for i in range(2)]
        record = {"id": run_id, "command": "./train", "engine": "Open MPI 5.0.11", "started": time.time() - 100, "ended": ended or time.time(),
                  "ranks": ranks, "code": code, "verdict": verdict, "started_again": started_again, "reason": "rank failed", **more}
        (self.folder / run_id / "new").write_text(json.dumps(record))
        (self.folder / run_id / "new").rename(self.folder / run_id / "record.json")  # a rename, so that a reader never sees an incomplete file

    def __call__(self, *words):
        return subprocess.run([self.muster, *words], capture_output=True, text=True, env=self.env, timeout=patient(10))

    def start(self, *words):
        """Starts a command that receives Ctrl-C even if these tests run in the background of a script."""
        return subprocess.Popen(["env", "--default-signal=INT", self.muster, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)


@pytest.fixture
def user(muster, tmp_path):
    return Runs(muster, tmp_path / "state")


@pytest.fixture
def runs(user):
    """Yields runs(command), which starts the command as the muster process of the run RUN."""
    owners = []

    def start(*command):
        owner = subprocess.Popen(command, stdout=subprocess.PIPE)
        owners.append(owner)
        assert owner.stdout.readline() == b"ready\n"
        start_time = Path(f"/proc/{owner.pid}/stat").read_text().rpartition(")")[2].split()[19]
        user.add(RUN, [(0, "out", "[n1:0] one\n")], owner=f"{owner.pid} {start_time} {socket.gethostname()}\n")
        return owner

    yield start
    for owner in owners:
        owner.kill()
        owner.wait()


def leave(process):
    """Sends Ctrl-C and returns what the command prints then."""
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=patient(10))
    assert process.returncode == 130, said
    return said


def test_attach_ends_when_its_reader_leaves_and_the_run_goes_on(user, runs):
    runs(*WAIT)
    with user.start("attach", RUN) as attached:
        assert attached.stdout.readline() == "[n1:0] one\n"
        attached.stdout.close()
        try:
            assert attached.wait(timeout=patient(10)) == 128 + signal.SIGPIPE
        finally:
            attached.kill()
        assert attached.stderr.read() == ""
    assert described("runs", json.loads(user("runs", "--json").stdout))["state"] == "running"


@pytest.mark.parametrize("command", [["attach"], ["logs", "-f"]], ids=["attach", "logs"])
def test_ctrl_c_leaves_the_run_running_and_says_how_to_end_it(user, runs, command):
    owner = runs(*WAIT)
    watching = user.start(*command)
    assert watching.stdout.readline() == "[n1:0] one\n"
    user.print(RUN, "err" if command == ["logs", "-f"] else "out", "[n2:1] two\n")
    assert watching.stdout.readline() == "[n2:1] two\n"
    said = leave(watching)
    assert f"{RUN} continues" in said and f"muster stop {RUN}" in said and f"muster attach {RUN}" in said
    assert owner.poll() is None
    assert user("stop", RUN).returncode == 0 and owner.wait(timeout=patient(10)) == -signal.SIGTERM


def test_logs_follow_a_run_through_its_restart_to_its_end(user, runs):
    owner = runs(*WAIT)
    watching = user.start("logs", "-f", "--grep", "loss")
    user.print(RUN, "out", "[n1:0] loss 3\n[n1:0] saved\n")
    assert watching.stdout.readline() == "[n1:0] loss 3\n"
    user.end(RUN, 3, "rank 1 failed", started_again="rank 1 failed")
    user.add(f"{RUN}.1", [(0, "out", "[n1:0] loss 2\n")], owner=(user.folder / RUN / "owner").read_text())
    assert watching.stdout.readline() == "[n1:0] loss 2\n"
    user.print(f"{RUN}.1", "out", "[n1:0] loss 1\n")
    user.end(f"{RUN}.1")
    out, err = watching.communicate(timeout=patient(10))
    assert (watching.returncode, out) == (0, "[n1:0] loss 1\n"), err
    assert "rank 1 failed; muster will restart it" in err and f"{RUN}.1 has ended" in err
    assert owner.poll() is None


@pytest.mark.parametrize("record, last", [
    ({"code_of": "rank", "first_failed_rank": 1}, "muster: exit code 3 is that of rank 1 on n2\n"),
    ({"code_of": "muster", "first_failed_rank": 1}, "muster: exit code 3 is muster's own\n"),
    ({}, "muster: it failed\n")], ids=["rank", "muster", "older"])
def test_attach_says_whose_exit_code_it_is(user, record, last):
    user.add(RUN, LINES, code=3, verdict="it failed", **record)
    attached = user("attach")
    assert attached.returncode == 3 and "muster: it failed\n" in attached.stderr
    assert attached.stderr.endswith(last), attached.stderr


@pytest.mark.parametrize("boot, what", [("", "muster was killed"), ("an-earlier-boot", "muster was killed or this machine rebooted")], ids=["killed", "rebooted"])
def test_a_run_whose_muster_is_gone(user, boot, what):
    """The process that has the pid now is another one, or the machine has been rebooted since: in the second case, pid and start time are
    those of a living process."""
    start = Path(f"/proc/{os.getpid()}/stat").read_text().rsplit(")", 1)[1].split()[19]
    user.add(RUN, LINES, owner=f"{os.getpid()} {start if boot else 1} {os.uname().nodename} {boot}\n", orphan_after=90)
    alone = "the hosts end the run at the latest after 90 s without muster"
    followed = user("logs", "-f")
    assert followed.returncode == 0 and followed.stdout == CHOICES[""]
    assert followed.stderr == f"muster: {RUN}: {what}; {alone}\n"
    attached = user("attach")
    assert attached.returncode == 125 and f"{what}, so it is not recorded how the run ended" in attached.stderr, attached.stderr
    assert f"muster run --again {RUN}" in attached.stderr and alone in attached.stderr
    listed = described("runs", json.loads(user("runs", "--json").stdout))
    assert (listed["state"], listed["why"]) == ("killed", f"{what}; {alone}")
    stopped = user("stop", RUN)
    assert stopped.returncode == 2 and f"{what}, so no muster supervises this run" in stopped.stderr, stopped.stderr
    assert user("rm", RUN).returncode == 0


def test_stop_gives_up_after_its_time(user, runs):
    runs("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done")
    ended = user("stop", "--timeout", "1", RUN)
    assert ended.returncode == 124, ended.stderr
    assert f"{RUN} has not ended within 1 s" in ended.stderr and "kill -KILL" in ended.stderr


def test_stop_waits_for_the_end(user, runs):
    runs("sh", "-c", "trap 'sleep 0.3; exit 0' TERM; echo ready; while :; do sleep 0.1; done")
    ended = user("stop", RUN)
    assert (ended.returncode, ended.stderr) == (0, f"muster: {RUN} has ended\n")


LINES = [(3600, "out", "[n1:0] a\n"), (60, "err", "[n2:1] b\n"), (30, "out", "[n1:0] c\n[n2:1] d\n"), (20, "err", "[n1:0] e\n")]
CHOICES = {
    "": "[n1:0] a\n[n2:1] b\n[n1:0] c\n[n2:1] d\n[n1:0] e\n",
    "--err": "[n2:1] b\n[n1:0] e\n",
    "--out": "[n1:0] a\n[n1:0] c\n[n2:1] d\n",
    "--rank 1": "b\nd\n",
    "--rank 0-1 --err": "[n2:1] b\n[n1:0] e\n",
    "--host n2": "[n2:1] b\n[n2:1] d\n",
    "--since 10m": "[n2:1] b\n[n1:0] c\n[n2:1] d\n[n1:0] e\n",
    "--grep [ace]": "[n1:0] a\n[n1:0] c\n[n1:0] e\n",
    "--attempt 1": "[n1:0] first\n",
    f"{RUN} --attempt 1": "[n1:0] first\n",
    "lr3 --attempt 2 --grep a": "[n1:0] a\n",
    "20250101": "[n1:0] old\n",
}


@pytest.mark.parametrize("choice", CHOICES)
def test_logs_show_the_newest_attempt_of_the_newest_run_or_what_is_chosen(user, choice):
    user.add("20250101-000000-00000", [(0, "out", "[n1:0] old\n")], code=0)
    user.add(RUN, [(0, "out", "[n1:0] first\n")], code=3, started_again="it failed", name="lr3")
    user.add(f"{RUN}.1", LINES, code=0, name="lr3")
    shown = user("logs", *choice.split())
    assert (shown.stdout, shown.returncode) == (CHOICES[choice], 0), shown.stderr


@pytest.mark.parametrize("command", ["logs", "attach"])
def test_equal_lines_of_several_ranks_are_shown_once_on_a_terminal_and_each_in_a_pipe(user, command):
    lines = "".join(f"[n{rank // 4 + 1}:{rank}] epoch {epoch}\n" for epoch in range(100) for rank in range(8))
    user.add(RUN, [(0, "out", lines)], code=0)
    assert user(command).stdout == lines
    shown = subprocess.run(on_terminal(user.muster, command), stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**user.env, "NO_COLOR": "1"}, timeout=patient(10))
    assert shown.stdout.splitlines() == [f"[n[1-2]:0-7] epoch {epoch}" for epoch in range(100)], shown


MISTAKES = {"--rank 7": "there is no rank 7: the run has 2 ranks", "--host n[8-9]": "the run has no rank on n[8-9]\n  hint: its hosts: n[1-2]", "--attempt 2": "there is no attempt 2", "--grep a(b": "is not a regular expression",
            "--rank x": "'x' is not a list of ranks", "nothing": "there is no run 'nothing'"}


@pytest.mark.parametrize("words", MISTAKES)
def test_logs_refuse_what_the_run_does_not_have(user, words):
    user.add(RUN, LINES)  # the run may still be running
    refused = user("logs", *words.split())
    assert refused.returncode == 2 and MISTAKES[words] in refused.stderr


def test_runs_is_a_table_with_the_newest_first(user, runs):
    user.add("20250101-000000-00000", code=3, verdict="rank 1 on n2 ended with exit code 3")
    user.add("20250102-000000-00000", code=0, name="lr3")
    user.add("20250102-000000-00000.1", code=0, name="lr3")
    runs(*WAIT)
    table = user("runs").stdout.splitlines()
    assert table[0].split() == ["RUN", "STATE", "AGE", "DURATION", "HOSTS", "RANKS", "ATTEMPTS", "COMMAND", "WHY"]
    assert [line.split()[:2] for line in table[1:]] == [[RUN, "running"], ["lr3", "ok"], ["20250101-000000-00000", "failed"]]
    assert "n[1-2]  2      2         ./train" in table[2] and table[3].endswith("./train  rank 1 on n2 ended with exit code 3")
    limited = user("runs", "--limit", "1")
    assert limited.stdout.splitlines()[1].startswith(RUN) and "2 older runs are not shown" in limited.stderr
    listed = [described("runs", json.loads(line)) for line in user("runs", "--json").stdout.splitlines()]
    assert [(run["id"], run["name"], run["state"], run["code"], run["attempts"]) for run in listed] == [
        (RUN, "", "running", None, 1), ("20250102-000000-00000", "lr3", "ok", 0, 2), ("20250101-000000-00000", "", "failed", 3, 1)]
    assert listed[2]["hosts"] == ["n1", "n2"] and listed[2]["why"] == "rank 1 on n2 ended with exit code 3"


def test_show_tells_everything_about_a_run(user):
    folder = user.add(RUN, LINES, code=3, verdict="rank 1 failed", started_again="rank 1 failed", name="lr3")
    words = {"schema": 1, "folder": "/home/me/project", "words": ["-H", "n[1-2]"], "program": ["./train"]}
    (folder / "command.json").write_text(json.dumps(words))
    user.add(f"{RUN}.1", code=3, verdict="rank 1 failed again", name="lr3")
    text = user("show", "lr3").stdout
    for part in (RUN, "lr3", "failed (3)", "rank 1 failed again", "-H 'n[1-2]'", "/home/me/project", "n[1-2] (2)", "Open MPI 5.0.11", str(folder),
                 "exit code 0: rank 0", "exit code 3: rank 1", "1: ", "2: "):
        assert part in text, part
    user.add("20270101-000000-00000", code=0)
    assert "ended      exit code 0: ranks 0-1\n" in user("show").stdout
    shown = json.loads(user("show", "lr3", "--json").stdout)
    described("show", {**shown, "records": []})  # those above are shorter than real ones
    assert (shown["id"], shown["directory"], [record["code"] for record in shown["records"]]) == (RUN, "/home/me/project", [3, 3])


def test_rm_removes_what_is_named_old_or_too_much(user, runs):
    day = 86400
    for age in (40, 20, 10, 1):
        user.add(f"run-{99 - age}", [(0, "out", 1000 * "x" + "\n")], code=0, ended=time.time() - age * day)
    user.add("run-98.1", code=0)
    runs(*WAIT)

    def left():
        return sorted(path.name for path in user.folder.iterdir())

    refused = user("rm", RUN)
    assert refused.returncode == 2 and f"{RUN} may still be running" in refused.stderr and f"muster stop {RUN}" in refused.stderr
    assert user("rm").returncode == 2
    assert user("rm", "--older-than", "30d", "--dry-run").stdout.startswith("would remove run-59 (")
    assert "run-59" in left()
    assert user("rm", "--older-than", "30d").stdout.startswith("removed run-59 (")
    assert left() == [RUN, "run-79", "run-89", "run-98", "run-98.1"]
    assert user("rm", "run-98").returncode == 0
    assert left() == [RUN, "run-79", "run-89"]
    sizes = sum(file.stat().st_size for file in user.folder.rglob("*") if file.is_file())
    assert user("rm", "--max-size", str(sizes - 1)).stdout.startswith("removed run-79 (")
    assert user("rm", "--max-size", "0", "--older-than", "0").returncode == 0
    assert left() == [RUN]


def test_rm_leaves_a_run_that_another_muster_starts_again(user):
    used = user.add("run-1", code=3)
    user.add("run-2", code=0)
    lock = os.open(used, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    refused = user("rm", "run-1")
    assert refused.returncode == 2 and "run-1 may still be running" in refused.stderr
    others = user("rm", "--max-size", "0")
    os.close(lock)
    assert others.returncode == 0 and others.stdout.startswith("removed run-2 ("), others.stderr
    assert [path.name for path in user.folder.iterdir()] == ["run-1"]


def test_a_detached_run_is_in_use_while_its_hosts_are_checked(user, tmp_path):
    """rm refuses to remove such a run, and stop ends it."""
    reached = tmp_path / "reached"
    started = user.start("run", "-d", "-q", "-n", "1", "--activate", f"touch {reached}; sleep 50", "--", "true")
    until("the hosts are being checked", reached.exists, 10)
    (run_id,) = (path.name for path in user.folder.iterdir())
    refused = user("rm", run_id)
    assert refused.returncode == 2 and f"{run_id} may still be running" in refused.stderr
    assert user("rm", "--older-than", "0", "--max-size", "0").stdout == ""
    assert described("runs", json.loads(user("runs", "--json").stdout))["state"] == "running"
    assert user("stop", run_id).returncode == 0
    started.communicate(timeout=patient(10))
    listed = json.loads(user("runs", "--json").stdout)
    assert (listed["state"], listed["command"]) == ("not started", "true") and listed["started"] > 0, listed


@pytest.mark.parametrize("words", ["rm --max-size -5", "rm --max-size 10X", "rm --max-size 1.5G", "rm --max-size 99999999999G", "runs --limit -3",
                                   "bench all-reduce --min -5", "bench all-reduce --max 10X"])
def test_a_wrong_size_or_number_is_refused(user, words):
    user.add(RUN, LINES, code=0)
    refused = user(*words.split())
    assert refused.returncode == 2 and refused.stdout == ""
    assert words.startswith("runs") or f"'{words.split()[-1]}' is not a size; write 500M, 10G or a number of bytes" in refused.stderr
    assert (user.folder / RUN).exists()


def test_on_end_is_told_of_a_refused_run_and_changes_nothing(user, tmp_path):
    told = tmp_path / "told"
    refused = user("run", "-n", "1", "--name", "lr3", "--on-end", f"cat > {told}", "--", "/nowhere/train")
    end = described("runs", json.loads(told.read_text()))
    assert refused.returncode == 127, refused.stderr
    assert (end["name"], end["state"], end["code"]) == ("lr3", "not started", 127) and end["why"], end
    failed = user("run", "-n", "1", "--on-end", "echo heard; exit 3", "--", "/nowhere/train")
    assert failed.returncode == 127 and failed.stdout == ""
    assert "heard\n" in failed.stderr and "muster: the command of --on-end failed: exit code 3\n" in failed.stderr
