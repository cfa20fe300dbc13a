"""The commands about runs, on a run with a stand-in for muster: it has a process and a folder, but no hosts."""
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from tests.waiting import patient

pytestmark = pytest.mark.smoke

RUN = "20260101-000000-00000"


@pytest.fixture
def runs(tmp_path):
    """runs(command) -> the environment of a user who has a run with that command as its muster."""
    owners = []

    def start(*command):
        owner = subprocess.Popen(command, stdout=subprocess.PIPE)
        owners.append(owner)
        assert owner.stdout.readline() == b"ready\n"
        start_time = Path(f"/proc/{owner.pid}/stat").read_text().rpartition(")")[2].split()[19]
        folder = tmp_path / f"state/muster/runs/{RUN}"
        folder.mkdir(parents=True)
        (folder / "out").write_text("[n1:0] one\n")
        (folder / "owner").write_text(f"{owner.pid} {start_time} {socket.gethostname()}\n")
        return {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}

    yield start
    for owner in owners:
        owner.kill()
        owner.wait()


def test_attach_ends_when_its_reader_leaves_and_the_run_goes_on(muster, runs):
    environment = runs("sh", "-c", "echo ready; exec sleep 1000")
    with subprocess.Popen([muster, "attach", RUN], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as attached:
        assert attached.stdout.readline() == b"[n1:0] one\n"
        attached.stdout.close()
        try:
            assert attached.wait(timeout=patient(10)) == 128 + signal.SIGPIPE
        finally:
            attached.kill()
        assert attached.stderr.read() == b""
    listed = subprocess.run([muster, "runs"], capture_output=True, text=True, env=environment, timeout=patient(10)).stdout
    assert listed == f"{RUN}  running; to follow it: muster attach\n"


def test_stop_gives_up_after_its_time(muster, runs):
    environment = runs("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done")
    ended = subprocess.run([muster, "stop", "--timeout", "1", RUN], capture_output=True, text=True, env=environment, timeout=patient(10))
    assert ended.returncode == 124, ended.stderr
    assert f"{RUN} has not ended within 1 s" in ended.stderr and "kill -KILL" in ended.stderr


def test_stop_waits_for_the_end(muster, runs):
    environment = runs("sh", "-c", "trap 'sleep 0.3; exit 0' TERM; echo ready; while :; do sleep 0.1; done")
    ended = subprocess.run([muster, "stop", RUN], capture_output=True, text=True, env=environment, timeout=patient(10))
    assert (ended.returncode, ended.stderr) == (0, f"muster: {RUN} has ended\n")
