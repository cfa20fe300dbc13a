"""A job that hangs: muster why, and what a run reports by itself when it stops making progress."""
import json
import re
import shutil
from pathlib import Path

import pytest
from tests.docs.pages import take
from tests.run.launchers import ACTIVATE_TORCH, DEPS
from tests.schemas import described
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.lab

_, *DOCUMENTED = take("docs/why.md", "$ muster why")
TWO = "n[1-2]"
# Tries, as another user of the machine, to connect to the process that supervises a run.
ASK = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
except PermissionError as error:
    print("refused:", error)
"""
# Forbids ptrace for everybody but root.
UNDUMPABLE = """
import ctypes, os, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
print("up", flush=True)
time.sleep(1000)
"""


@pytest.fixture(scope="session")
def hanging(shared_folder):
    """Returns the script that hangs, the place in it where it hangs, and a command that activates PyTorch and adds py-spy to PATH."""
    script = shared_folder / "train.py"
    shutil.copy(Path(__file__).parent / "programs/hanging.py", script)
    tools = shared_folder / "pyspy"
    tools.mkdir(exist_ok=True)
    if not (tools / "py-spy").exists():
        (tools / "py-spy").symlink_to(DEPS / "tools/bin/py-spy")
    number = 1 + script.read_text().splitlines().index("        time.sleep(0.2)")
    return script, f"train.py:{number} load_shard()", f"{ACTIVATE_TORCH}; PATH=$PATH:{tools}"


def without_numbers(lines):
    """Replaces numbers that differ between runs."""
    return [re.sub(r"\d+ (s|min)$", "N s", re.sub(r"\d{8}-\d{6}-\w+(/why-\d+)?", "RUN", line)) for line in lines]


def start_hanging(cluster, hanging, timeout, *flags, ranks=2):
    run = cluster.start(None, "--engine", "torchrun", "--activate", hanging[2], *flags, "--", "python", str(hanging[0]), str(timeout), hosts=TWO)
    run.wait_for("step 2", ranks, within=60)
    return run


def test_a_rank_that_does_not_come(cluster, hanging):
    """From another terminal, muster names the rank, its host and the line of its code. Nothing is stopped, and the run succeeds once the
    rank arrives."""
    run = start_hanging(cluster, hanging, 1000)
    told = without_numbers([line for line in DOCUMENTED if line != "..."])

    def accused():
        asked = cluster.muster("why", "--json", run.id)
        verdict = described("why", json.loads(asked.stdout)) if asked.returncode == 0 else None
        return verdict if verdict and verdict["hang"] else None

    def shown_as_documented():
        shown = cluster.muster("why").stdout
        lines = without_numbers(shown.splitlines())
        return shown if lines[:3] + lines[-2:] == told else None

    verdict = until("the verdict", accused, 60)  # half a minute of silence may be normal
    assert (verdict["kind"], verdict["ranks"], verdict["hosts"]) == ("not-entered", [1], ["n2"]), verdict
    shown = until("the text", shown_as_documented, 30)
    assert hanging[1] in shown, shown
    kept = re.search(r"^evidence +(\S+)$", shown, re.MULTILINE)[1]
    assert cluster.lab.shell("launcher", f"cat {kept}/why.txt") in shown
    assert cluster.lab.shell("launcher", f"stat -c %a {kept} {kept}/*").split() == ["700", "600", "600", "600"]
    cluster.lab.shell("n2", "touch /tmp/shard-19")
    try:
        assert run.end(60) == 0, run.said()
    finally:
        cluster.lab.shell("n2", "rm /tmp/shard-19")
    for host in cluster.lab.hosts:
        until(f"nothing looks at ranks on {host} any more", lambda host=host: cluster.lab.exec(host, "pgrep", "-f", "muster agent --inspec[t]").returncode == 1, 10)
    after = cluster.muster("why", run.id)
    assert after.returncode == 0 and after.stdout.startswith("rank 1 (n2) ") and "has ended" in after.stderr, after


def test_who_was_missing_when_a_time_out_ended_the_job(cluster, hanging):
    """c10d ends a rank that timed out, which cuts off the other waiting ranks. muster names the rank that they waited for, with the line
    of its code."""
    named = r"rank \d ended with a time-out rank 1 \(n1\) has not entered the collective of the others; ranks? [\d,-]+ \(n\d(, n\d)?\) waited until "
    for _ in range(1 if PATIENCE == 1 else 3):  # torchrun waits only some seconds for muster's look, which may not suffice on a busy machine
        run = start_hanging(cluster, hanging, 8, "--nproc-per-node", "2", ranks=4)
        assert run.end(90) != 0, run.said()
        said = re.sub(r"\nmuster: +", " ", run.errors)
        if re.search(named, said):
            break
    assert re.search(named, said), run.said()
    if PATIENCE == 1:  # on a busy machine there may not be enough time for a stack
        assert hanging[1] in said, run.said()


def test_a_run_that_is_idle_says_so_and_goes_on(cluster, every_engine):
    run = cluster.start(every_engine["openmpi5"], "--idle-after", "4", "--", "sh", "-c", "echo up; [ $RANK = 1 ] && kill -STOP $$; sleep 1000", hosts=TWO)
    run.wait_for(r"muster:   rank 1 \(n2\) is stopped", lines=run.err, within=60)
    assert "no rank has printed, communicated or computed for" in run.errors, run.said()
    assert cluster.muster("stop", run.id).returncode == 0
    assert run.end() != 0, run.said()


def test_an_idle_run_may_be_ended(cluster, every_engine):
    run = cluster.run(every_engine["openmpi5"], "--idle-after", "4", "--end-if-idle", "--", "sh", "-c", "echo up; exec sleep 1000", hosts=TWO, within=60)
    assert run.code == 124 and "communicated or computed for" in run.errors, run.said()


def test_what_may_not_be_seen_is_said(cluster, every_engine):
    """`muster why` says that it could not look into ranks that forbid ptrace. Another user of the machine gets no information."""
    run = cluster.start(every_engine["openmpi5"], "--", "python3", "-c", UNDUMPABLE, hosts=TWO)
    run.wait_for("up", 2)
    shown = cluster.muster("why", run.id)
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"^What could not be seen:\n(  .*\n)*  ranks 0-1 .*ptrace is not permitted", shown.stdout, re.MULTILINE), shown.stdout
    folder = cluster.lab.shell("launcher", f"realpath ~/.local/state/muster/runs/{run.id}").strip()
    asked = cluster.lab.exec("launcher", "python3", "-c", ASK, f"{folder}/ask", root=True)
    assert asked.stdout.startswith("refused:"), asked
    assert cluster.muster("stop", run.id).returncode == 0
    run.end()
