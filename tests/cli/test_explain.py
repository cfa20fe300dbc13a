"""`muster explain` without a run: logs of any launcher, and the handbook."""
import json
import subprocess

import pytest
from tests.docs.pages import take
from tests.schemas import described
from tests.waiting import patient

pytestmark = pytest.mark.smoke
LOG, FILE, PIPE = (take("docs/explain.md", first) for first in ("[rank3]: Traceback", "$ muster explain train.log", "$ echo 'ssh: "))
TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 57, in load_shard\n    raise error\nValueError: no shard 19\n'


@pytest.fixture
def explain(muster, tmp_path):
    def run(*words, code=0, **more):
        done = subprocess.run([muster, "explain", *words], env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, cwd=tmp_path,
                              timeout=patient(20), check=False, **more)
        assert done.returncode == code, done
        return done.stdout + done.stderr

    return run


def test_files_and_standard_input(explain, tmp_path):
    (tmp_path / "0.err").write_text(TRACEBACK)
    (tmp_path / "1.err").write_text("RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [198.18.1.2]:33218\n")
    said = explain("1.err", "0.err")
    assert said.startswith("ValueError: no shard 19\n  your code  train.py:57, in load_shard\n  seen in    0.err:4: "), said
    assert "These only follow from another failure:" in said and "[gloo-peer-closed]" in said
    assert explain("-", input="slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed.\n").startswith("The job used more memory")
    assert explain("-", input="epoch 1\n") == "Nothing in 1 line shows a failure that muster knows.\n"


def test_the_page_shows_what_is_printed(explain, tmp_path):
    (tmp_path / "train.log").write_text("\n".join(LOG) + "\n")
    assert explain("train.log") == "\n".join(FILE[1:]).rstrip("\n") + "\n"
    said = PIPE[0].split("'")[1] + "\n"
    assert explain("-", input=said) == "\n".join(PIPE[1:]).rstrip("\n") + "\n"


def test_json(explain):
    found = described("explain", json.loads(explain("--json", "-", input=TRACEBACK)))
    assert found["confidence"] == "high"
    assert found["causes"][0]["exception"] == {"type": "ValueError", "message": "no shard 19", "file": "train.py", "line": 57, "function": "load_shard", "own_code": True,
                                               "because_of": ""}


def test_bytes_of_a_log_cannot_control_the_terminal(explain):
    said = explain("-", input="\x1b]0;title\x07ssh: connect to host n1;reboot port 22: Connection refused\nValueError: \x1b[2J\n")
    assert "\x1b" not in said and "\x07" not in said


def test_the_handbook(explain):
    assert explain("nccl-dev-shm-full").startswith("/dev/shm is too small or too full for NCCL\n  id         nccl-dev-shm-full\n")
    entry = described("explain-failure", json.loads(explain("--json", "nccl-dev-shm-full")))
    assert (entry["kind"], entry["symptom"], entry["topic"]) == ("cause", "crash", "memory") and entry["patterns"] and entry["fix"]
    listed = explain("--list")
    assert "\nThe job hangs\n" in listed and "  nccl-dev-shm-full  " in listed
    assert "muster explain --list shows the ids of failures" in explain("no-such-failure", code=2)


def test_the_troubleshooting_page_is_that_of_the_catalogue(explain, pytestconfig):
    """To update the page: muster explain --list --markdown > docs/troubleshooting.md"""
    page = (pytestconfig.rootpath / "docs/troubleshooting.md").read_text()
    assert explain("--list", "--markdown") == page
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert not [line for line in headings if "__" in line]  # they would make a part of the heading bold
