"""muster sync --spread: hosts send the files to each other, and all copies are verified."""
import re
import subprocess

import pytest
from tests.remote.test_sync import make_job, sh, tree
from tests.waiting import patient, until

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def shared_lab(module_lab_up):
    """Six hosts that can log in to each other."""
    lab = module_lab_up(hosts=6)
    words = ["muster", "setup", "-H", ",".join(lab.hosts), "--yes", "--password-file", "-", "--host-to-host"]
    made = lab.exec("launcher", *words, input=lab.password + "\n", timeout=120)
    assert made.returncode == 0, made.stdout + made.stderr
    return lab


@pytest.fixture
def lab(shared_lab):
    """The shared lab, without what an earlier test left."""
    yield shared_lab
    for host in [*shared_lab.hosts, "launcher"]:
        left = sh(shared_lab, host, "ls -d /tmp/muster-* 2>/dev/null || true")
        sh(shared_lab, host, "rm -rf ~/job /tmp/go /tmp/waits /tmp/once /tmp/muster-*; for p in rsync sha256sum; do [ ! -e /usr/bin/$p.real ] || mv -f /usr/bin/$p.real /usr/bin/$p; done",
           root=True)
        sh(shared_lab, host, "rm -rf ~/job")
        assert left == "", f"{host}: {left}"


def words(*more, hosts="n[1-6]"):
    return ["muster", "sync", "-H", hosts, "--spread", *more, "job"]


def spread(lab, *more, **which):
    return lab.exec("launcher", *words(*more, **which))


def replace(lab, host, program, script):
    """Puts a script in the place of a program, which stays as PROGRAM.real."""
    sh(lab, host, f"mv /usr/bin/{program} /usr/bin/{program}.real", root=True)
    lab.write(host, f"/usr/bin/{program}", "#!/bin/sh\n" + script, mode="755", root=True)


def number(said, sender):
    """How many hosts got files from this sender."""
    found = re.search(rf"muster: sync: {sender} sent \S+ \S+ to (\S+)(?: \((\d+) hosts\))?$", said, re.M)
    return int(found[2] or 1) if found else 0


def same_everywhere(lab, job, hosts=None):
    wanted = tree(lab, "launcher", job)
    for host in hosts or lab.hosts:
        assert tree(lab, host, job) == wanted, host


def test_most_hosts_get_the_files_from_other_hosts(lab):
    job = make_job(lab)
    sh(lab, "n1", "mkdir -p ~/job/data && echo own > ~/job/data/own")  # n1 may send only what this machine has
    sh(lab, "n3", "mkdir -p ~/job/data/.muster-partial && head -c 5000 /dev/zero > ~/job/data/.muster-partial/zeros")  # left by a break
    done = spread(lab, "--fan-out", "2")
    assert done.returncode == 0, done.stderr
    assert number(done.stderr, "other hosts") >= 2 and number(done.stderr, "this machine") <= 4, done.stderr
    same_everywhere(lab, job, lab.hosts[1:])
    again = spread(lab, "--delete")
    assert again.returncode == 0 and "sent" not in again.stderr, again.stderr
    assert again.stdout == "n[2-6] (5 hosts): the same already\nn1: 0 files (0 bytes), 1 deleted\n"
    same_everywhere(lab, job)
