"""Ctrl-C at any moment ends any command quickly and leaves nothing behind."""
import random
import subprocess
import time

import pytest
from tests.staging import staged
from tests.waiting import patient, until

pytestmark = pytest.mark.lab
COMMANDS = {
    "check": ["check", "-H", "n[1-3]"],
    "run": ["run", "-H", "n[1-3]", "--", "sleep", "2"],
    "setup": ["setup", "-H", "n[1-3]", "--yes", "--password-file", "/tmp/password"],
    "bench": ["bench", "all-reduce", "-H", "n[1-3]", "--backends", "bare", "--max", "64K", "--seconds", "0.1"],
}
MOMENTS = 13  # per command, so that there are more than fifty in total


@pytest.fixture(scope="module")
def programs(muster):
    """A folder with muster and muster-bench."""
    with staged(muster.parent.parent, muster, muster.parent / "muster-bench") as folder:
        yield folder


@pytest.fixture(scope="module")
def module_cluster(programs, module_lab_up, make_cluster, engines):
    return make_cluster(module_lab_up(hosts=3))


class Command:
    """A command on the launcher, with its pid."""

    def __init__(self, cluster, engine, argv):
        self.cluster = cluster
        cluster.lab.shell("launcher", "rm -f /tmp/pid")
        self.process = subprocess.Popen(cluster.lab.words("launcher", "env", f"PATH={engine.path}", "sh", "-c", 'echo $$ > /tmp/pid; exec "$@"', "sh", *argv),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def interrupt(self):
        pid = until("it has begun", lambda: self.cluster.lab.exec("launcher", "cat", "/tmp/pid").stdout.strip(), within=10)
        self.cluster.lab.exec("launcher", "kill", "-INT", pid)

    def end(self, within):
        """Returns (exit code, output)."""
        said, _ = self.process.communicate(timeout=within)
        return self.process.returncode, said


@pytest.mark.campaign
@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_at_random_moments(cluster, programs, engines, name):
    engine, argv = engines["openmpi5"], [str(programs / "muster"), *COMMANDS[name]]
    cluster.lab.shell("launcher", f"umask 077; echo {cluster.lab.password} > /tmp/password")
    before = cluster.processes()
    started = time.monotonic()
    code, said = Command(cluster, engine, argv).end(patient(120))
    whole = time.monotonic() - started
    assert code == 0, said
    seed = random.randrange(1 << 32)
    print(f"seed {seed}, {name} takes {whole:.1f} s")
    moments = random.Random(seed)
    for _ in range(MOMENTS):
        command = Command(cluster, engine, argv)
        moment = moments.uniform(0, whole)
        time.sleep(moment)  # the random moment is the point of this test
        command.interrupt()
        asked = time.monotonic()
        code, said = command.end(patient(5))
        print(f"{name} after {moment:.2f} s: {code} in {time.monotonic() - asked:.2f} s")
        assert code in (130, 0), f"after {moment:.2f} s: {said}"
        cluster.settles(before, 5)
