"""The container bundle in use: real sshds of an ordinary user, and Intel MPI between them."""
import base64

import pytest
from tests.waiting import until

pytestmark = pytest.mark.lab

MPIEXEC = "/opt/muster-deps/impi/bin/mpiexec.hydra"
PORT = "12345"


def sh(lab, host, script, **more):
    done = lab.exec(host, "sh", "-c", script, **more)
    assert done.returncode == 0, f"{host}: {script}\n{done.stdout}{done.stderr}"
    return done.stdout


def bundle(lab, *more):
    """Writes a bundle on the launcher as its ordinary user."""
    owner = sh(lab, "launcher", "echo $(id -u):$(id -g)").strip()
    return lab.exec("launcher", "muster", "setup", "--bundle", "bundle", "--owner", owner, "--port", PORT,
                    "--home", f"/home/{lab.user}", "-H", ",".join(["launcher", *lab.hosts]), *more)


def mount(lab, folder, host):
    """Replaces the ~/.ssh of a host with a folder of the bundle, as a container engine's -v would."""
    packed = sh(lab, "launcher", f"tar -C bundle/{folder} -c . | base64 -w0")
    assert base64.b64decode(packed)
    sh(lab, host, "rm -rf ~/.ssh; mkdir -m 700 ~/.ssh; base64 -d | tar -C ~/.ssh -xp", input=packed)


def start_sshd(lab, host):
    """Starts sshd and waits until it listens. The command returns before that, but sshd writes its pid file only afterwards."""
    sh(lab, host, "/usr/sbin/sshd -f ~/.ssh/sshd_config -E ~/.ssh/sshd.log </dev/null >/dev/null 2>&1")
    until("sshd listens", lambda: lab.exec(host, "sh", "-c", "test -s ~/.ssh/sshd.pid").returncode == 0, 20)


def stop_sshd(lab, host):
    """Ends sshd and waits until it has removed its pid file, which is the last thing that it does."""
    sh(lab, host, "kill $(cat ~/.ssh/sshd.pid)")
    until("sshd has ended", lambda: lab.exec(host, "sh", "-c", "test ! -e ~/.ssh/sshd.pid").returncode == 0, 20)


def ready(lab):
    made = bundle(lab)
    assert made.returncode == 0, made.stderr
    for host in lab.hosts:
        mount(lab, f"workers/{host}", host)
        start_sshd(lab, host)
    mount(lab, "launcher", "launcher")


def test_workers_sshd_runs_without_root_and_carries_intel_mpi(lab_up):
    lab = lab_up(hosts=2)
    ready(lab)
    for host in lab.hosts:
        assert sh(lab, host, "ps -o user= -p $(cat ~/.ssh/sshd.pid)").strip() == lab.user
        assert sh(lab, "launcher", f"ssh -o BatchMode=yes {host} hostname").strip() == host
    done = lab.exec("launcher", MPIEXEC, "-ppn", "1", "-hosts", ",".join(lab.hosts), "hostname", timeout=60)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(lab.hosts)
    keys = sh(lab, "launcher", "cat bundle/workers/*/ssh_host_ed25519_key.pub").split("\n")
    assert len(set(keys)) == len(keys), "workers share a host key"
    log = sh(lab, "n1", "cat ~/.ssh/sshd.log")
    assert "Accepted publickey" in log and "password" not in log


def test_a_worker_with_another_host_key_is_refused(lab_up):
    lab = lab_up(hosts=2)
    ready(lab)
    stop_sshd(lab, "n2")
    sh(lab, "n2", "rm ~/.ssh/ssh_host_ed25519_key* && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/ssh_host_ed25519_key")
    start_sshd(lab, "n2")
    refused = lab.exec("launcher", "ssh", "-o", "BatchMode=yes", "n2", "true")
    assert refused.returncode == 255 and "Host key verification failed" in refused.stderr
    assert lab.exec("launcher", "ssh", "-o", "BatchMode=yes", "n1", "true").returncode == 0


def test_a_second_run_keeps_everything_and_other_values_need_force(lab_up):
    lab = lab_up(hosts=2)
    first = bundle(lab)
    assert first.returncode == 0, first.stderr
    sums = "cd bundle && find . -type f | sort | xargs sha256sum"
    before = sh(lab, "launcher", sums)
    again = bundle(lab)
    assert again.returncode == 0 and "already up to date" in again.stdout
    assert sh(lab, "launcher", sums) == before
    other = bundle(lab, "--image", "other")
    assert other.returncode == 2 and "differs from what muster would write" in other.stderr and "except the keys: --force" in other.stderr
    assert sh(lab, "launcher", sums) == before
    forced = bundle(lab, "--image", "other", "--force")
    assert forced.returncode == 0, forced.stderr
    keys = "sha256sum bundle/launcher/id_ed25519 bundle/workers/*/ssh_host_ed25519_key"
    for line in sh(lab, "launcher", keys).splitlines():
        assert line.split()[0] in before
    assert "IMAGE=other" in sh(lab, "launcher", "cat bundle/run-worker.sh")
    kinds = sh(lab, "launcher", "ls bundle/launcher bundle/workers/*")
    assert "rsa" not in kinds and "dsa" not in kinds
