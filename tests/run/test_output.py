"""The ranks' output arrives: whole lines with labels, every byte in the file of its rank, and nothing is left or hangs."""
import base64
import hashlib
import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pip
import pytest
from tests.on_terminal import HOSTILE, HOSTILE_BYTES, SHOWN, is_harmless, on_terminal
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.lab

# Lines of many lengths, each with its rank and number, some written in two parts.
LINES = """
import os, sys
rank = int(os.environ["RANK"])
for i in range(3000):
    line = "rank %d line %d %s" % (rank, i, "x" * (i * 37 % 300))
    if i % 7 == 0:
        sys.stdout.write(line[:10]); sys.stdout.flush()
        sys.stdout.write(line[10:] + "\\n"); sys.stdout.flush()
    else:
        print(line, flush=i % 50 == 0)
print("rank %d to stderr" % rank, file=sys.stderr)
sys.stdout.write("no newline at the end")
"""
# Many megabytes of lines, and their hash on standard error.
FLOOD = """
import hashlib, os, sys
digest = hashlib.sha256()
block = b"".join(b"%06d %s\\n" % (i, b"y" * (i * 31 % 200)) for i in range(10000))
for i in range(1_000_000 * int(sys.argv[1]) // len(block)):
    digest.update(block)
    view = memoryview(block)
    while view: view = view[os.write(1, view):]
print("hash", digest.hexdigest(), file=sys.stderr)
"""
BINARY = "import os; d = bytes(range(256)) * 4000; os.write(2, d[:70000])\nwhile d: d = d[os.write(1, d):]"


def expected_lines(rank):
    return ["rank %d line %d %s" % (rank, i, "x" * (i * 37 % 300)) for i in range(3000)] + ["no newline at the end"]


def rank_hash(cluster, run_id, rank, *flags):
    """Returns the hash of what `muster logs` prints."""
    return cluster.lab.shell("launcher", f"muster logs {run_id} --rank {rank} {' '.join(flags) or '--out'} | sha256sum").split()[0]


def test_every_line_is_in_the_file_of_its_rank_and_nothing_is_left(cluster, engine):
    before = cluster.processes()
    run = cluster.run(engine, "--nproc-per-node", "2", "--", "python3", "-c", LINES)
    assert run.code == 0, run.said()
    for rank in range(6):
        assert cluster.muster("logs", run.id, "--rank", str(rank), "--out").stdout == "\n".join(expected_lines(rank))
        assert cluster.muster("logs", run.id, "--rank", str(rank), "--err").stdout == f"rank {rank} to stderr\n"
        assert f"[n{rank // 2 + 1}:{rank}] rank {rank} to stderr" in run.err
    cluster.settles(before, 5)
    assert cluster.run_folders() == {name: [] for name in cluster.lab.hosts}


def test_a_rank_cannot_control_the_terminal(cluster, engine):
    """Control sequences are shown neither while it runs nor in the verdict, in `attach` or in `logs`. The rank's file has every
    byte."""
    program = ["sh", "-c", f"printf '{HOSTILE}'; printf '{HOSTILE}' >&2; exit 3"]
    run = cluster.launch(on_terminal("env", "TERM=xterm", "NO_COLOR=1", "muster", "run", "-H", "n1", "--", *program), engine)
    assert run.end() == 3, run.said()
    assert f"[n1:0] {SHOWN}" in [line.rstrip("\r") for line in run.out], run.said()
    others = [cluster.lab.exec("launcher", *on_terminal("muster", *words)) for words in (["logs", "last"], ["logs", "last", "--rank", "0", "--err"], ["attach", "last"])]
    assert all(SHOWN in other.stdout for other in others), [other.stdout for other in others]
    assert all(map(is_harmless, [*run.out, *(line for other in others for line in other.stdout.splitlines())])), run.said()
    assert base64.b64decode(cluster.lab.shell("launcher", "muster logs last --rank 0 --out | base64 -w0")) == HOSTILE_BYTES


def test_endless_output_leaves_room_for_the_record(cluster, engine):
    cluster.lab.shell("launcher", f"mkdir /mnt/state && mount -t tmpfs -o size=32m,uid={cluster.lab.uid},mode=700 none /mnt/state", root=True)
    try:
        program = f"yes {1000 * 'x'} | head -c 30000000"
        line = f"PATH={engine.path} XDG_STATE_HOME=/mnt/state muster run -H n1 -- sh -c '{program}' 2>&1 >/dev/null"
        done = cluster.lab.exec("launcher", "sh", "-c", line)
        assert done.returncode == 0 and "is incomplete: the disk is nearly full" in done.stdout, done.stdout
        assert " ok " in cluster.lab.shell("launcher", "XDG_STATE_HOME=/mnt/state muster runs")
        assert int(cluster.lab.shell("launcher", "df --output=avail -B1 /mnt/state | tail -n 1")) > 1_000_000
        cluster.lab.shell("launcher", "rm -r /mnt/state/muster/runs/*")
        # With a limit, the newest output is stored, even if the disk is full before the limit is reached.
        line = f"PATH={engine.path} XDG_STATE_HOME=/mnt/state muster run --log-limit 1G -H n1 -- sh -c '{program}; echo the end' 2>&1 >/dev/null"
        done = cluster.lab.exec("launcher", "sh", "-c", line)
        assert done.returncode == 0 and "is incomplete" not in done.stdout and "because of --log-limit" in done.stdout, done.stdout
        assert cluster.lab.shell("launcher", "XDG_STATE_HOME=/mnt/state muster logs last --rank 0 --out | tail -n 1").endswith("the end\n")
    finally:
        cluster.lab.shell("launcher", "umount -l /mnt/state && rmdir /mnt/state", root=True)


def test_lines_on_the_screen_are_whole_and_labelled(cluster, engine):
    """Nothing is lost. Open MPI 4 itself splits hundreds of these lines; muster prevents that except on a badly overloaded
    machine."""
    run = cluster.run(engine, "--nproc-per-node", "2", "--", "python3", "-c", LINES)
    assert run.code == 0, run.errors
    wanted = Counter(f"[n{rank // 2 + 1}:{rank}] {line}" for rank in range(6) for line in expected_lines(rank))
    shown = Counter(line.replace("\r", "") for line in run.out)
    assert sum(map(len, shown.elements())) == sum(map(len, wanted.elements()))
    torn = wanted - shown
    assert torn.total() <= (0 if engine.name == "openmpi5" else 20), torn.most_common(3)


@pytest.mark.parametrize("name, megabytes", [("openmpi4", 20), ("openmpi5", 100)])  # takes a second per 5 to 6 MB on two cores
def test_a_flood(cluster, engines, name, megabytes):
    before = cluster.processes()
    run = cluster.run(engines[name], "-N", "1", "--", "python3", "-c", FLOOD, str(megabytes), within=100)
    assert run.code == 0, run.errors
    told = re.search(r"hash (\w+)", run.errors)[1]
    assert rank_hash(cluster, run.id, 0) == told
    cluster.settles(before, 5)


# Rank 0 prints numbered lines without a pause until a file exists, and then how many there were. The other ranks print one line.
ENDLESS = """
import os, sys, time
rank, number = int(os.environ["RANK"]), 0
while not os.path.exists("/tmp/enough"):
    if rank > 0: time.sleep(0.1)
    for _ in range(1000 if rank == 0 else 0):
        print("line", number, 80 * "z")
        number += 1
print("rank", rank, "printed", number, file=sys.stderr)
"""


def test_a_rank_that_floods_is_named_and_the_terminal_gets_a_part(cluster, engine):
    """The link of its host is too slow for what the rank prints. Its file has every line; what the terminal does not show is counted exactly."""
    cluster.lab.shell("n1", "rm -f /tmp/enough")
    cluster.lab.shell("n2", "rm -f /tmp/enough")
    command = shlex.join(on_terminal("env", "TERM=xterm", "NO_COLOR=1", "muster", "run", "-H", "n[1-2]", "--", "python3", "-c", ENDLESS))
    run = cluster.launch(["sh", "-c", command + " > /tmp/screen"], engine)

    def shows(text):
        return run.process.poll() is not None or cluster.lab.exec("launcher", "grep", "-qF", text, "/tmp/screen").returncode == 0

    try:
        until("the first lines", lambda: shows("[n1:0] line 100 "), 30)
        cluster.lab.command("link", "n1", "--rate", "2mbit")
        until("muster names the rank", lambda: shows("muster: rank 0 on n1 prints faster than muster can pass the output on"), 60)
    finally:
        cluster.lab.command("link", "n1", "--clear")
        for host in ("n1", "n2"):
            cluster.lab.shell(host, "touch /tmp/enough")
    assert run.end(60) == 0, run.errors
    # Without the unfinished lines that muster draws at the bottom and then erases.
    lines = [line.rpartition("\x1b[K")[2].rstrip("\r") for line in cluster.lab.shell("launcher", "cat /tmp/screen").split("\n")]
    count = next(int(match[1]) for line in lines if (match := re.fullmatch(r"\[n1:0\] rank 0 printed (\d+)", line)))
    shown = [int(match[1]) for line in lines if (match := re.fullmatch(r"\[n1:0\] line (\d+) z{80}", line))]
    left_out = [int(match[1]) for line in lines if (match := re.match(r"muster: (\d+) lines? not shown here; to see all: muster logs ", line))]
    assert shown == sorted(set(shown)) and left_out and len(shown) + sum(left_out) == count, (len(shown), left_out, count)
    assert "[n2:1] rank 1 printed 0" in lines
    assert [line for line in lines if re.match(r"muster: rank 0 on n1 printed .* and had to wait for ", line)], lines[-5:]
    assert not [line for line in lines if line.startswith("muster: ") and re.search("rank 1|ranks", line.partition(": 2 ranks")[0])], lines[-5:]
    stored = cluster.lab.shell("launcher", "muster logs last --rank 0 --out | awk '$2 != NR - 1 { exit 1 } END { print NR }'")
    assert int(stored) == count
    ranks = json.loads(cluster.lab.shell("launcher", "cat $(ls -d ~/.local/state/muster/runs/* | tail -n 1)/record.json"))["ranks"]
    size = int(cluster.lab.shell("launcher", "muster logs last --rank 0 --out | wc -c"))
    assert (ranks[0]["out_bytes"], ranks[1]["out_bytes"]) == (size, 0)
    assert ranks[0]["waited_s"] >= 5 and ranks[1]["waited_s"] == 0, ranks


# Rank 0 prints so many numbered lines and fails, the others print three.
LIMITED = """
import os, sys
rank = os.environ["RANK"]
for i in range(int(sys.argv[1]) if rank == "0" else 3):
    print("rank", rank, "line", i, 80 * "x")
print("the end of rank", rank, file=sys.stderr)
sys.exit(3 if rank == "0" else 0)
"""


def test_a_limit_keeps_the_newest_output_and_says_what_was_dropped(cluster, engine):
    run = cluster.run(engine, "--log-limit", "2M", "--idle-after", "0", "--", "python3", "-c", LIMITED, "30000", hosts="n[1-2]")
    assert run.code == 3, run.errors
    dropped = int(re.search(r"muster: dropped the oldest [\d.]+ MB \((\d+) bytes\) of this run's output because of --log-limit", run.errors)[1])
    assert len([line for line in run.out if line.startswith("[n1:0] rank 0 line ")]) == 30000  # a pipe gets every line
    logs = cluster.muster("logs", run.id)
    lines = logs.stdout.splitlines()
    assert f"({dropped} bytes) of this run's output because of --log-limit" in logs.stderr
    newest = [line for line in lines if line.startswith("[n1:0] rank 0 line ")]
    assert newest == [f"[n1:0] rank 0 line {i} {80 * 'x'}" for i in range(30000 - len(newest), 30000)] and 0 < len(newest) < 25000
    assert dropped == sum(len(line) + 1 for line in run.out) - sum(len(line) + 1 for line in lines if not line.endswith(("rank 0", "rank 1")))
    assert {"[n1:0] the end of rank 0", "[n2:1] the end of rank 1"} <= set(lines)
    own = cluster.muster("logs", run.id, "--rank", "0", "--out")
    assert own.stdout.splitlines()[-1] == f"rank 0 line 29999 {80 * 'x'}" and own.stdout.startswith("rank 0 line ") and "bytes) of rank 0's stdout because of --log-limit" in own.stderr
    assert cluster.muster("logs", run.id, "--rank", "1", "--out").stdout.splitlines() == [f"rank 1 line {i} {80 * 'x'}" for i in range(3)]
    attached = cluster.muster("attach", run.id)
    assert attached.returncode == 3 and attached.stdout.splitlines()[-1] and f"({dropped} bytes)" in attached.stderr
    assert "\0" not in attached.stdout and cluster.muster("explain", run.id).returncode == 0
    assert json.loads(cluster.lab.shell("launcher", f"cat ~/.local/state/muster/runs/{run.id}/record.json"))["dropped_bytes"] == dropped
    assert int(cluster.lab.shell("launcher", f"du -sk ~/.local/state/muster/runs/{run.id}").split()[0]) < 3000
    refused = cluster.run(engine, "--log-limit", "1000", "--", "true")
    assert refused.code == 2 and "at least 1M" in refused.errors, refused.errors


def test_a_limit_is_refused_where_old_output_cannot_be_dropped(cluster, engine):
    cluster.lab.shell("launcher", f"mkdir /mnt/state && mount -t ramfs none /mnt/state && chown {cluster.lab.uid} /mnt/state", root=True)
    try:
        run = cluster.launch(["env", "XDG_STATE_HOME=/mnt/state", "muster", "run", "-H", "n1", "--log-limit", "2M", "--", "echo", "started"], engine)
        assert run.end() == 125 and "cannot free the beginning of a file" in run.errors and run.out == [], run.said()
    finally:
        cluster.lab.shell("launcher", "umount -l /mnt/state && rmdir /mnt/state", root=True)


def test_bytes_that_are_no_text(cluster, engine):
    run = cluster.run(engine, "--", "python3", "-c", BINARY)
    assert run.code == 0, run.errors
    data = bytes(range(256)) * 4000
    for rank in range(3):
        assert rank_hash(cluster, run.id, rank) == hashlib.sha256(data).hexdigest()
        assert rank_hash(cluster, run.id, rank, "--err") == hashlib.sha256(data[:70000]).hexdigest()


def test_closed_output_and_a_daemon_neither_hang_nor_stay(cluster, engine):
    before = cluster.processes()
    closed = cluster.run(engine, "--", "sh", "-c", "echo first; exec >&- 2>&-; sleep 5; exit 7", within=15)
    assert closed.code == 7 and len([line for line in closed.out if "first" in line]) == 3, closed.said()
    # The daemon keeps the rank's output open in a separate session, and its parent has ended.
    daemon = cluster.run(engine, "--", "sh", "-c", "(setsid sleep 1000 &); echo first", within=15)
    assert daemon.code == 0 and len(daemon.out) == 3, daemon.said()
    cluster.settles(before, 5)


# Each rank waits until all have started; then all print the same lines.
SAME = """
import os, sys, time
os.mkdir(sys.argv[1] + "/" + os.environ["RANK"])
while len(os.listdir(sys.argv[1])) < int(os.environ["WORLD_SIZE"]): time.sleep(0.05)
for i in range(100): print("line %d of 100" % i, flush=True)
"""


def test_what_64_ranks_print_alike_is_shown_once(cluster, engine):
    """On a terminal, with coloured labels. Each rank's file has all lines."""
    folder = cluster.lab.shell("n1", "mktemp -d").strip()
    run = cluster.launch(on_terminal("env", "TERM=xterm", "muster", "run", "-H", "n1", "-n", "64", "--", "python3", "-c", SAME, folder), engine)
    assert run.end(60) == 0, run.said()
    found = [match for line in run.out if (match := re.fullmatch(r"\x1b\[36m(\[n1:[\d,-]+\])\x1b\[0m (line \d+ of 100)\r?", line))]
    assert len({match[2] for match in found}) == 100, run.said()
    assert len(found) <= (400 if PATIENCE == 1 else 3200), run.said()  # 6400 without folding; on a busy machine some equal lines may arrive too late to be joined
    assert cluster.muster("logs", "last", "--rank", "63").stdout.splitlines() == [f"line {i} of 100" for i in range(100)]


def test_a_note_that_needs_no_action_is_shown_only_with_v(cluster, engine):
    cluster.lab.command("break", "n2", "docker0")
    try:
        run = cluster.run(engine, "--", "true")
        assert run.code == 0 and len(run.err) == 1, run.said()
        verbose = cluster.run(engine, "-v", "--", "true")
        assert verbose.code == 0 and any(line.startswith("note") for line in verbose.err), verbose.said()
    finally:
        cluster.lab.shell("n2", "ip link del docker0", root=True)


def test_a_rank_that_fails_is_shown_though_only_rank_0_was_asked_for(cluster, engine):
    cluster.lab.shell("n2", "rm -f /tmp/go; mkfifo /tmp/go")
    program = 'echo out $RANK; echo err $RANK >&2; [ $RANK = 1 ] && read line < /tmp/go && exit 3; exec sleep 1000'
    run = cluster.start(engine, "--show", "0", "--", "sh", "-c", program)
    run.wait_for("out 0")
    cluster.lab.shell("n2", "timeout 60 sh -c 'echo > /tmp/go'")
    assert run.end() == 3, run.said()
    assert [line for line in run.out if "out" in line] == ["[n1:0] out 0"], run.said()
    assert "[n2:1] err 1" in run.err and not any("err 2" in line for line in run.err), run.said()


# A bar that is drawn once, starts to move when the test creates one file, and stops when it creates another.
BARS = """
import os, time
from tqdm import tqdm
print("up", flush=True)
with tqdm(desc="rank " + os.environ["RANK"], mininterval=0.05) as bar:
    while not os.path.exists("/tmp/bars-move"): time.sleep(0.05)
    while not os.path.exists("/tmp/no-more-bars"):
        bar.update()
        time.sleep(0.02)
"""


class Tmux:
    """A command in tmux on the launcher, and the contents of its screen."""

    def __init__(self, lab, command):
        self.lab = lab
        self("new-session", "-d", "-x", "100", "-y", "30", command + "; echo ended $?; exec sleep 1000")

    def __call__(self, *words):
        return self.lab.exec("launcher", "tmux", "-L", "bars", "-f", "/dev/null", *words, check=True).stdout

    def lines(self):
        return [line for line in self("capture-pane", "-p").splitlines() if line]


def steps_of(line):
    """Returns the number of steps that rank 0's bar shows, or 0 if the line is not that bar."""
    found = re.fullmatch(r"\[n1:0\] rank 0: (\d+)it \[.*\]", line)
    return int(found[1]) if found else 0


def test_tqdm_of_rank_0_is_drawn_in_place(cluster, engine):
    """Rank 0's bar appears as soon as it is drawn for the first time. The bars of the other five ranks are hidden, and ordinary lines appear
    above rank 0's."""
    words = ["env", f"PATH={engine.path}", "muster", "run", "--answer-within", "45", "-H", cluster.all, "--nproc-per-node", "2", "--", "python3", "-c", BARS]
    screen = Tmux(cluster.lab, shlex.join(words))
    try:
        until("the first drawing", lambda: any(line.startswith("[n1:0] rank 0: 0it [") for line in screen.lines()), 30)
        for host in cluster.lab.hosts:
            cluster.lab.shell(host, "touch /tmp/bars-move")

        def later_than(steps):
            lines = screen.lines()
            return lines if lines and steps_of(lines[-1]) > steps else None

        seen = [until("the bar", lambda: later_than(0), 30)]
        for _ in range(2):
            seen.append(until("the bar moves on", lambda: later_than(steps_of(seen[-1][-1])), 10))
        for host in cluster.lab.hosts:
            cluster.lab.shell(host, "touch /tmp/no-more-bars")
        seen.append(until("the end", lambda: (lines := screen.lines())[-1] == "ended 0" and lines, 30))
        for lines in seen:
            assert [line for line in lines if "it/s]" in line] == [line for line in lines if steps_of(line)][-1:], "\n".join(lines)
        assert any(re.fullmatch(r"\[n.*:.*\] up", line) for line in seen[-1]), "\n".join(seen[-1])
    finally:
        screen("kill-server")
        for host in cluster.lab.hosts:
            cluster.lab.shell(host, "rm -f /tmp/bars-move /tmp/no-more-bars")


# Three bars, one below the other, and a line above them.
ROWS = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from pip._vendor.rich.console import Console
from pip._vendor.rich.progress import Progress
with Progress(console=Console(force_terminal=True, width=70)) as progress:
    rows = [progress.add_task("row %d" % i, total=None) for i in range(3)]
    for step in range(10**6):
        if step == 20: progress.console.print("rank %s speaks" % os.environ["RANK"])
        for row in rows: progress.update(row, advance=1, description="row %d step %d" % (row, step))
        time.sleep(0.05)
"""


def test_bars_of_several_rows_and_ctrl_c(cluster, engine):
    """Uses the real rich library, which comes with pip. muster shows the rows in turn on the last line, and its messages on lines of their
    own."""
    words = ["env", f"PATH={engine.path}", "muster", "run", "--answer-within", "45", "-H", cluster.all, "--", "python3", "-c", ROWS, str(Path(pip.__file__).parent.parent)]
    screen = Tmux(cluster.lab, shlex.join(words))
    try:
        def has_moved_on():
            lines = screen.lines()
            found = re.match(r"\[n1:0\] row 2 step (\d+) ", lines[-1]) if lines else None
            return lines if found and int(found[1]) > 60 else None

        lines = until("the third row", has_moved_on, 30)

        def all_have_spoken():
            above = screen("capture-pane", "-p", "-S", "-").splitlines()
            return all(f"[n{rank + 1}:{rank}] rank {rank} speaks" in above for rank in range(3))

        until("the lines of all ranks above the bar", all_have_spoken, 30)
        assert sum(" row " in line for line in lines) < 20, "\n".join(lines)  # there would be hundreds if each drawing left one
        screen("send-keys", "C-c")
        lines = until("the end", lambda: (lines := screen.lines())[-1] == "ended 130" and lines, 30)
        assert "muster: ending the run; press Ctrl-C again to kill it at once" in lines, "\n".join(lines)
    finally:
        screen("kill-server")
