"""What a command does when it cannot write to standard output or standard error because of a full disk, a closed descriptor or a reader that left."""
import os
import signal
import subprocess

import pytest
from tests.waiting import patient

pytestmark = pytest.mark.smoke

RUN = "20260101-000000-00000"


@pytest.fixture
def state(tmp_path):
    """Returns the environment of a user with one run, which printed two lines."""
    folder = tmp_path / f"state/muster/runs/{RUN}"
    folder.mkdir(parents=True)
    (folder / "out").write_text("[n1:0] one\n[n1:0] two\n")
    return {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}


@pytest.fixture
def show(root):
    return ["bench", "show", str(root / "tests/bench/examples/collectives.json")]


COMMANDS = [["--help"], ["--version"], ["hosts", "-H", "n[1-3]"], ["facts"], ["runs"], ["logs", RUN], ["submit", "--dry-run", "-N", "2", "--", "python"],
            ["lab", "up", "--nodes", "2", "--dry-run"], "show"]


@pytest.fixture(params=COMMANDS, ids=lambda words: words if isinstance(words, str) else words[0].lstrip("-"))
def words(request):
    """Returns a command whose whole result is its output."""
    return request.getfixturevalue("show") if request.param == "show" else request.param


def test_a_full_disk_is_a_failure(muster, words, state):
    with open("/dev/full", "w") as full:
        ended = subprocess.run([muster, *words], stdout=full, stderr=subprocess.PIPE, text=True, env=state, timeout=patient(30))
    assert (ended.returncode, ended.stderr) == (125, "muster: cannot write to standard output: No space left on device\n")


def without_reader(command, env):
    """Runs the command with its standard output connected to a pipe that has no reader any more."""
    reads, writes = os.pipe()
    os.close(reads)
    try:
        return subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, text=True, env=env, timeout=patient(30))
    finally:
        os.close(writes)


def test_without_a_reader_it_ends_quietly(muster, words, state):
    ended = without_reader([muster, *words], state)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, "")


def test_a_closed_standard_output_is_a_failure_and_no_file_takes_its_place(muster, words, state):
    ended = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", muster, *words], stderr=subprocess.PIPE, text=True, env=state, timeout=patient(30))
    assert (ended.returncode, ended.stderr) == (125, "muster: cannot write to standard output: Bad file descriptor\n")


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-"])
def test_the_code_is_the_same_when_an_error_cannot_be_printed(muster, redirection):
    ended = subprocess.run(["sh", "-c", f'exec "$@" {redirection}', "sh", muster, "hosts", "-H", "n[1-"], timeout=patient(30))
    assert ended.returncode == 2


def test_a_failure_of_its_own_counts_more_than_a_lost_reader(muster, state):
    assert without_reader([muster, "logs", "no-such-run"], state).returncode == 2


def test_exec_with_labels_ends_when_its_reader_leaves(muster, tmp_path):
    """A command that prints without end replaces ssh. SIGPIPE must end muster."""
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\nexec yes\n")
    ssh.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    with subprocess.Popen([muster, "exec", "-l", "-H", "n1", "--", "yes"], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout.readline() == b"n1: y\n"
        process.stdout.close()
        try:
            assert process.wait(timeout=patient(10)) == -signal.SIGPIPE
        finally:
            process.kill()
