"""Follows docs/daily.md: edit, run in the background, watch, leave, come back, look back, and bring the results home."""
import json
import re
import subprocess
from random import Random

import pytest
from tests.docs.pages import take
from tests.docs.terminal import Terminal
from tests.waiting import patient

pytestmark = pytest.mark.lab

CONFIGURATION = take("docs/daily.md", "hosts: n[1-2]")
EDIT_AND_RUN = take("docs/daily.md", "$ sed -i ")
WATCH = take("docs/daily.md", "$ muster logs -f")
ATTACH = take("docs/daily.md", "$ muster attach ")
LOOK_BACK = take("docs/daily.md", "$ muster runs")
BRING_BACK = take("docs/daily.md", "$ muster sync --back ")
DAY = take("README.md", "muster run -d ")
RANKS_CODE, OWN_CODE = take("docs/exit-codes.md", "muster: exit code 3 ")
STATUS = take("docs/exit-codes.md", "$ muster run -H n[1-2] --status ")

# Every rank waits for the test's signal before each epoch. The interpreter is that of the hosts' venv.
TRAIN = """import argparse, os, pathlib, random, sys, time

rate = 0.1
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int)
epochs = parser.parse_args().epochs
rank, project = int(os.environ["RANK"]), os.environ["WANDB_PROJECT"]
print(f"rate {rate}, project {project}, {sys.prefix}", flush=True)
for epoch in range(1, epochs + 1):
    while not os.path.exists(f"/tmp/epoch{epoch}"):
        time.sleep(0.05)
    print(f"epoch {epoch} of {epochs}: loss {rate / epoch:.3f}", flush=True)
pathlib.Path("out").mkdir(exist_ok=True)
pathlib.Path(f"out/weights{rank}.bin").write_bytes(random.Random(f"{rank} {rate}").randbytes(100_000))
"""

RUN_ID = r"\d{8}-\d{6}-[0-9a-f]{5}"
# Parts that differ between runs and between machines.
VARYING = ((RUN_ID, "ID"), (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME"), (r"(?<![\w.])(?:\d+m)?[\d.]+s\b", "SPAN"), (r"\([\d.]+ (?:bytes|kB)\)", "SIZE"),
           (r"Open MPI [\d.]+", "Open MPI"), (r"  +", "  "), (r" +$", ""))


def unfolded(text):
    """Replaces each line that muster shows once for both ranks with one line per rank. muster joins equal lines that arrive at about the
    same time."""
    return re.sub(r"^\[n\[1-2\]:0-1\] (.*)$", r"[n1:0] \1\n[n2:1] \1", text, flags=re.M)


def by_both(line):
    """Returns a pattern that matches when both ranks have printed the line, joined or not."""
    return rf"(?s:n\[1-2\]:0-1\] {line}|{line}.*{line})"


def alike(text):
    """Returns the lines without their varying parts, sorted because the ranks print at the same time in any order."""
    text = unfolded(text)
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text, flags=re.M)
    return sorted(text.splitlines())


def commands(block):
    """Yields each command of a page's block, and its output on the page."""
    for part in re.split(r"^\$ ", "\n".join(block) + "\n", flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


@pytest.fixture(scope="module")
def lab(module_lab_up):
    lab = module_lab_up(hosts=2)
    for host in lab.hosts:
        lab.shell(host, "/usr/bin/python3 -m venv --without-pip ~/venv")
    done = lab.exec("launcher", "muster", "setup", "-H", "n[1-2]", "--yes", "--password-file", "-", input=lab.password + "\n")
    assert done.returncode == 0, done.stderr
    return lab


@pytest.fixture
def open_terminal(lab):
    """Yields open_terminal(), which returns another Terminal on the launcher, in ~/job."""
    opened = []

    def get():
        opened.append(Terminal(lab.words("launcher", "bash", "--norc", "-i"), lab.password, within=patient(30)))
        return opened[-1]

    yield get
    for terminal in opened:
        terminal.close()


class Day:
    """The steps of the story."""

    def __init__(self, lab, terminal):
        self.lab, self.terminal = lab, terminal

    def type(self, block, terminal=None):
        """Types the commands of a block; each must print what the page shows. Returns the output of the last one."""
        for command, output in commands(block):
            said = (terminal or self.terminal).run(command).partition("\n")[2]
            assert alike(said) == alike(output), said
        return said

    def code(self, terminal=None):
        return int((terminal or self.terminal).run("echo $?").splitlines()[1])

    def let_train(self, epoch):
        for host in self.lab.hosts:
            self.lab.shell(host, f"touch /tmp/epoch{epoch}")

    def printed(self, epochs):
        """Returns the ranks' output up to the end of this many epochs, sorted."""
        lines = [f"rate 0.2, project trial, /home/{self.lab.user}/venv"]
        lines += [f"epoch {epoch} of 3: loss {0.2 / epoch:.3f}" for epoch in range(1, epochs + 1)]
        return sorted(f"[n{rank + 1}:{rank}] {line}" for rank in range(2) for line in lines)

    def has_weights(self, rate):
        """Checks that the results of all ranks are on the launcher."""
        for rank in range(2):
            words = self.lab.words("launcher", "cat", f"/home/{self.lab.user}/job/out/weights{rank}.bin")
            here = subprocess.run(words, capture_output=True, check=True, timeout=patient(10)).stdout
            assert here == Random(f"{rank} {rate}").randbytes(100_000), rank


def of_ranks(text):
    return sorted(line for line in unfolded(text).splitlines() if line.startswith("[n"))


def test_a_day_with_muster(lab, open_terminal):
    first = open_terminal()  # creates ~/job
    day = Day(lab, first)
    job = f"/home/{lab.user}/job"
    lab.write("launcher", f"{job}/train.py", TRAIN)
    lab.write("launcher", f"{job}/muster.yaml", "\n".join(CONFIGURATION) + "\n")
    for host in lab.hosts:
        assert lab.exec(host, "test", "-e", job).returncode == 1  # the project is only on the launcher

    # Edit and run: the id is printed, and the run survives the prompt.
    run_id = re.search(RUN_ID, day.type(EDIT_AND_RUN))[0]
    assert day.code() == 0
    for host in lab.hosts:
        assert "rate = 0.2\n" in lab.shell(host, f"cat {job}/train.py")

    # Watch, and leave with Ctrl-C: the job continues.
    ((watch, shown),) = commands(WATCH)
    first.start(watch, until=by_both("rate 0"))
    day.let_train(1)
    first.wait_for(by_both("epoch 1 "))
    said = first.end(b"\x03").partition("\n")[2]
    assert alike(said) == alike(shown) and of_ranks(said) == day.printed(epochs=1), said
    assert f"muster stop {run_id}" in said
    assert day.code() == 130
    state = json.loads(lab.exec("launcher", "muster", "runs", "--json").stdout)
    assert (state["id"], state["name"], state["state"], state["ranks"]) == (run_id, "lr2", "running", 2)

    # Attach from a second terminal until the end: every line appears once.
    second = open_terminal()
    ((attach, shown),) = commands(ATTACH)
    second.start(attach, until=by_both("epoch 1 "))
    day.let_train(2)
    second.wait_for(by_both("epoch 2 "))
    day.let_train(3)
    said = second.end().partition("\n")[2]
    assert alike(said) == alike(shown) and of_ranks(said) == day.printed(epochs=3), said
    assert day.code(second) == 0

    # Look back.
    assert f" {run_id}\n" in day.type(LOOK_BACK)
    assert of_ranks(first.run("muster logs")) == day.printed(epochs=3)

    # Bring the results home, byte for byte.
    day.type(BRING_BACK)
    assert day.code() == 0
    day.has_weights(rate=0.2)

    # Run again: meanwhile --sync has also sent each host the results of the other.
    first.run("sed -i 's/^rate = .*/rate = 0.3/' train.py")
    first.run("muster run -P trial train.py --epochs 1")
    assert day.code() == 0
    first.run("muster sync --back out")
    assert day.code() == 0
    day.has_weights(rate=0.3)
    told = [command for block in (EDIT_AND_RUN, WATCH, ATTACH, LOOK_BACK, BRING_BACK) for command, _ in commands(block)]
    assert DAY == [command for command in told if command.startswith("muster ")]


def test_whose_exit_code_it_is(lab, open_terminal):
    """The last line and the --status file say whose exit code it is."""
    terminal = open_terminal()
    lab.write("launcher", f"/home/{lab.user}/job/train.py", "import os, sys\nsys.exit(3 if os.environ['RANK'] == '1' else 0)\n")
    lab.write("launcher", f"/home/{lab.user}/job/muster.yaml", "sync: true\n")
    (run, _), (show, written) = commands(STATUS)
    assert terminal.run(run).splitlines()[-1] == RANKS_CODE
    assert alike(terminal.run(show).partition("\n")[2]) == alike(written)
    said = terminal.run("muster run --timeout 1 -H n1 sleep 100").splitlines()[-1]
    assert said == OWN_CODE.replace("125", "124")
