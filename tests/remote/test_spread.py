"""muster sync --spread: hosts send the files to each other, and all copies are verified."""
import re
import subprocess

import pytest
from tests.docs.pages import take
from tests.remote.test_sync import make_job, sh, tree
from tests.waiting import patient, until

pytestmark = pytest.mark.lab

LINE, *SAID = take("docs/exec-sync.md", "$ muster sync -H n[1-6] --spread ")


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
    clean = f"""ls -d /tmp/muster-* 2>/dev/null; rm -rf /home/{shared_lab.user}/job /tmp/go /tmp/waits /tmp/once /tmp/muster-*
        for p in rsync sha256sum; do [ ! -e /usr/bin/$p.real ] || mv -f /usr/bin/$p.real /usr/bin/$p; done"""
    left = {host: sh(shared_lab, host, clean, root=True) for host in [*shared_lab.hosts, "launcher"]}
    assert set(left.values()) == {""}, left


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


def test_hosts_send_the_files_to_other_hosts(lab):
    job = make_job(lab)
    done = lab.exec("launcher", "sh", "-c", LINE.removeprefix("$ "))
    assert done.returncode == 0 and done.stdout.splitlines() == SAID[:1], done.stdout + done.stderr
    # Who sent to how many hosts depends on how busy the machine is.
    assert number(done.stderr, "this machine") + number(done.stderr, "other hosts") == 6, done.stderr
    assert number("\n".join(SAID[1:]), "this machine") + number("\n".join(SAID[1:]), "other hosts") == 6
    same_everywhere(lab, job)
    # A host sends only what this machine has, and goes on from what a break has left.
    sh(lab, "launcher", "head -c 200000 /dev/zero > ~/job/data/more")
    sh(lab, "n1", "echo own > ~/job/data/own")
    sh(lab, "n3", "mkdir -p ~/job/data/.muster-partial && head -c 5000 /dev/zero > ~/job/data/.muster-partial/more")
    done = spread(lab, "--fan-out", "1")  # one after the other, so that hosts do send
    assert done.returncode == 0 and done.stdout == "n[1-6] (6 hosts): 1 file (200.0 kB)\n", done.stdout + done.stderr
    assert number(done.stderr, "other hosts") >= 1, done.stderr
    assert number(done.stderr, "this machine") + number(done.stderr, "other hosts") == 6, done.stderr
    same_everywhere(lab, job, lab.hosts[1:])
    again = spread(lab, "--delete")
    assert again.returncode == 0, again.stderr
    assert again.stdout == "n[2-6] (5 hosts): the same already\nn1: 0 files (0 bytes), 1 deleted\n"
    same_everywhere(lab, job)


def test_hosts_without_a_way_to_each_other_get_the_files_from_here(open_lab):
    job = make_job(open_lab)
    done = open_lab.exec("launcher", *words("--fan-out", "1", hosts="n[1-3]"))
    assert done.returncode == 0 and done.stdout.startswith("n[1-3] (3 hosts): 3 files (100.0 kB)"), done.stdout + done.stderr
    assert number(done.stderr, "this machine") == 3 and number(done.stderr, "other hosts") == 0, done.stderr
    assert re.search(r"^muster: sync: n.* got no files from other hosts: the sending host cannot log in to the receiving one: ", done.stderr, re.M), done.stderr
    assert "hint: muster setup --host-to-host" in done.stderr
    same_everywhere(open_lab, job)
    for host in open_lab.hosts:
        assert sh(open_lab, host, "ls -d /tmp/muster-* 2>/dev/null || true") == ""


def test_a_name_that_leads_elsewhere_brings_no_files_there(lab):
    """On n1, the name n2 leads to n3, even with n3's host key pinned: only the token tells the difference."""
    job = make_job(lab)
    address = {host["name"]: host["addresses"][0] for host in lab.status()["hosts"]}
    sh(lab, "n1", f"cp /etc/hosts /root/hosts; sed -i '/ n2$/d;/\\tn2$/d' /etc/hosts; echo '{address['n3']} n2' >> /etc/hosts", root=True)
    sh(lab, "n1", "cd ~/.ssh/muster-mesh && cp known_hosts known && sed -i '/^n2 /d' known_hosts && sed -n 's/^n3 /n2 /p' known >> known_hosts")
    assert sh(lab, "n1", "ssh n2 hostname") == "n3\n"
    done = spread(lab, "--fan-out", "1", hosts="n1,n2")
    sh(lab, "n1", "cat /root/hosts > /etc/hosts", root=True)
    sh(lab, "n1", "cd ~/.ssh/muster-mesh && mv known known_hosts")
    assert done.returncode == 0, done.stderr
    assert "n2 got no files from other hosts: on the sending host, the name of the receiving host leads to a different machine" in done.stderr, done.stderr
    same_everywhere(lab, job, ["n1", "n2"])
    sh(lab, "n3", "test ! -e ~/job")


WAITS = 'case $1 in --server) if [ ! -e /tmp/once ]; then touch /tmp/waits /tmp/once; until [ -e /tmp/go ]; do sleep 0.1; done; fi;; esac\nexec rsync.real "$@"\n'


def test_hosts_that_hang_stop_nobody_else(lab):
    """n1 gets its files from this machine, and n6 from another host. Under nohup, SIGHUP does not end this."""
    job = make_job(lab)
    for slow in ("n1", "n6"):
        replace(lab, slow, "rsync", WAITS)
    running = subprocess.Popen(lab.words("launcher", "nohup", *words("--fan-out", "3")), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for host in lab.hosts[1:5]:
        until(f"{host} has the files", lambda host=host: lab.exec(host, "test", "-e", f"{job}/train.py").returncode == 0, 20)
    until("n6 hangs", lambda: lab.exec("n6", "test", "-e", "/tmp/waits").returncode == 0, 20)
    # /tmp/go does not exist yet, so neither host has its files.
    sh(lab, "launcher", "kill -HUP $(pgrep -x muster)")
    for slow in ("n1", "n6"):
        sh(lab, slow, "test -e /tmp/waits && touch /tmp/go")
    out, err = running.communicate(timeout=patient(30))
    assert running.returncode == 0, out + err
    same_everywhere(lab, job)


# Changes a byte of what rsync received, and neither size nor time.
SPOILS = 'rsync.real "$@"; code=$?\ncase $1 in --server) f=$HOME/job/train.py; if [ -e $f ] CONDITION; then ' \
    'touch -r $f /tmp/once; printf X | dd of=$f conv=notrunc 2>/dev/null; touch -r /tmp/once $f; fi;; esac\nexit $code\n'


def test_a_spoiled_copy_is_found_and_repaired(lab):
    job = make_job(lab)
    replace(lab, "n2", "rsync", SPOILS.replace("CONDITION", "&& [ ! -e /tmp/once ]"))
    replace(lab, "n3", "rsync", SPOILS.replace("CONDITION", ""))  # after every repair, too
    done = spread(lab)
    assert done.returncode == 125, done.stdout + done.stderr
    assert re.search(r"^muster: sync: n.*: the content of the copy differed; sent again: train.py$", done.stderr, re.M), done.stderr
    assert "n3: the copy still differs from the files here after they were sent again" in done.stderr and "1 of 6 hosts failed" in done.stderr, done.stderr
    same_everywhere(lab, job, [host for host in lab.hosts if host != "n3"])  # n3 was nobody's source


def test_files_that_change_here_meanwhile_accuse_no_host(lab):
    job = make_job(lab)
    replace(lab, "launcher", "sha256sum", f'sha256sum.real "$@"; code=$?\necho "#" >> {job}/train.py\nexit $code\n')
    done = spread(lab)
    assert done.returncode == 125, done.stdout + done.stderr
    assert "these files changed here while muster copied them, so it cannot verify the copies: train.py" in done.stderr, done.stderr
    assert "hosts failed" not in done.stderr and "differed" not in done.stderr, done.stderr
    # Not all hosts need have got the same version of the file.
    assert sum(int(of or 1) for of in re.findall(r"^n\S+(?: \((\d+) hosts\))?: ", done.stdout, re.M)) == 6, done.stdout


# Hashes wrongly, and the second time waits before that.
MISJUDGES = 'case $1 in --) if [ -e /tmp/once ]; then touch /tmp/waits; until [ -e /tmp/go ]; do sleep 0.1; done; fi; touch /tmp/once; echo 0;; *) exec sha256sum.real;; esac\n'


def test_a_directory_that_vanishes_here_accuses_no_host(lab):
    job = make_job(lab)
    replace(lab, "n1", "sha256sum", MISJUDGES)
    running = subprocess.Popen(lab.words("launcher", *words(hosts="n1")), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until("the copy is verified after the ordinary transfer", lambda: lab.exec("n1", "test", "-e", "/tmp/waits").returncode == 0, 20)
    sh(lab, "launcher", f"rm -rf {job}")
    sh(lab, "n1", "touch /tmp/go")
    out, err = running.communicate(timeout=patient(20))
    assert running.returncode == 125 and f"so it cannot verify the copies: {job}" in err, out + err
    assert "hosts failed" not in err and "differ" not in err, err


def test_ctrl_c_leaves_nothing_running(lab):
    make_job(lab)
    # This machine sends to n2 when it is interrupted, and n1 to n3.
    waiting = ("n2", "n3")
    for host in waiting:
        replace(lab, host, "rsync", WAITS)
    running = subprocess.Popen(lab.words("launcher", *words("--fan-out", "2", hosts="n[1-3]")), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until("both hosts wait", lambda: all(lab.exec(host, "test", "-e", "/tmp/waits").returncode == 0 for host in waiting), 20)
    sh(lab, "launcher", "kill -INT $(pgrep -x muster)")
    out, err = running.communicate(timeout=patient(20))
    assert running.returncode == 130 and "interrupted" in err and "hint: run the command again to resume" in err, out + err
    for host in waiting:
        sh(lab, host, "touch /tmp/go")
    for host in ("n1", "n2", "n3"):
        until(f"nothing is left on {host}", lambda host=host: sh(lab, host, "ls -d /tmp/muster-* 2>/dev/null || true") == "", 20)
    until("no rsync is left here", lambda: lab.exec("launcher", "pgrep", "-x", "rsync").returncode == 1, 20)
