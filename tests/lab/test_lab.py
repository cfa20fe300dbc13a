"""A lab does what it promises: hosts are separate from each other and disappear without a trace."""
import hashlib
import os
import random
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from tests.waiting import patient

pytestmark = pytest.mark.lab

KINDS = ("net", "uts", "ipc", "pid", "mnt")


def labs():
    return set(os.listdir("/run/muster-lab")) if os.path.isdir("/run/muster-lab") else set()


def namespaces_and_processes(others):
    """Returns the namespaces of all processes, and the processes that belong to a lab or do not share all our namespaces. Leaves
    out the labs `others`."""
    ours = {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in KINDS}
    namespaces, strangers, seen = set(), set(), []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            links = {kind: os.readlink(entry / "ns" / kind) for kind in KINDS}
            start = (entry / "stat").read_text().rsplit(")", 1)[1].split()[19]
            mark = next((word for word in (entry / "environ").read_bytes().split(b"\0") if word.startswith(b"MUSTER_LAB=")), None)
        except OSError:
            continue  # ended meanwhile, or a zombie without namespaces
        seen.append((entry.name, start, links, mark, mark is not None and mark.decode().rpartition("/")[2] in others))
    not_looked_at = {links["pid"] for _, _, links, _, is_others in seen if is_others} - {ours["pid"]}
    for name, start, links, mark, is_others in seen:
        if is_others or links["pid"] in not_looked_at:  # some daemons clear their environment, but they share the lab's PID namespace
            continue
        namespaces |= set(links.values())
        if links != ours or mark is not None:
            strangers.add((name, start))
    return namespaces, strangers


def machine(others=None):
    """Returns everything that a lab could leave behind, in a form that can be compared. Leaves out the labs `others`, because other
    tests may change those at any time. By default these are the labs that exist now."""
    others = labs() if others is None else others
    namespaces, strangers = namespaces_and_processes(others)
    etc = hashlib.sha256(b"".join(Path(p).read_bytes() for p in ("/etc/passwd", "/etc/shadow", "/etc/group", "/etc/hosts")))
    return {
        "namespaces": namespaces,
        "processes": strangers,
        "mounts": {line.split(" ", 1)[1] for line in Path("/proc/self/mountinfo").read_text().splitlines()},
        "links": set(os.listdir("/sys/class/net")),
        "labs": others,
        "files": {str(p) for top in ("/run", "/tmp") for p in Path(top).glob("muster-lab*/**/*") if p.parts[:3] != ("/", "run", "muster-lab") or p.parts[3] not in others}
        | {str(p) for p in Path("/run").iterdir()},
        "etc": etc.hexdigest(),
    }


def assert_nothing_left(before, seconds=3):
    """Checks that the machine is as before. The kernel and the init process may need a moment to clean up. Things that another
    test's lab removes meanwhile do not count."""

    def more(now):
        return {what: now[what] - before[what] if isinstance(now[what], set) else {now[what]} - {before[what]} for what in before}

    deadline = time.monotonic() + patient(seconds)
    while any(more(now := machine(before["labs"])).values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert {what: left for what, left in more(now).items() if left} == {}
    for what in ("mounts", "links"):
        assert now[what] == before[what]


@pytest.fixture
def a_name(muster):
    """Yields a name for a lab that the test makes itself. The lab is always removed afterwards."""
    name = "t" + uuid.uuid4().hex[:8]
    yield name
    subprocess.run([muster, "lab", "down", "--name", name], capture_output=True, timeout=patient(60))


def timed(*words):
    start = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, timeout=patient(120))
    assert done.returncode == 0, done.stderr
    return time.monotonic() - start


@pytest.mark.alone
@pytest.mark.parametrize("hosts", [4, 16, pytest.param(64, marks=pytest.mark.campaign)])
def test_up_and_down_leave_nothing(muster, a_name, hosts):
    before = machine()
    for _ in range(2):
        timed(muster, "lab", "up", "--name", a_name, "--nodes", str(hosts))
        timed(muster, "lab", "down", "--name", a_name)
        assert_nothing_left(before)


@pytest.mark.campaign
@pytest.mark.alone
@pytest.mark.parametrize("hosts, seconds", [(4, 3), (64, 20)])
def test_up_and_down_are_quick(muster, a_name, hosts, seconds):
    before = machine()
    ups, downs = [], []
    for _ in range(5):
        ups.append(timed(muster, "lab", "up", "--name", a_name, "--nodes", str(hosts)))
        downs.append(timed(muster, "lab", "down", "--name", a_name))
        assert_nothing_left(before)
    print(f"\n{hosts} hosts: up {min(ups):.2f} s, down {min(downs):.2f} s (minimum of 5)")
    assert min(ups) < seconds
    assert min(downs) < 3


def kill_up_at_random_moments(muster, name, times):
    before = machine()
    words = [muster, "lab", "up", "--name", name, "--nodes", "8"]
    whole = timed(*words)
    timed(muster, "lab", "down", "--name", name)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    for _ in range(times):
        up = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(0, whole))  # the random moment is the point of this test
        up.send_signal(signal.SIGKILL)
        up.wait(timeout=patient(10))
        timed(muster, "lab", "down", "--name", name)
        assert_nothing_left(before)


@pytest.mark.alone
def test_down_cleans_up_after_an_up_that_was_killed(muster, a_name):
    kill_up_at_random_moments(muster, a_name, 5)


@pytest.mark.campaign
@pytest.mark.alone
def test_down_cleans_up_after_an_up_that_was_killed_20_times(muster, a_name):
    kill_up_at_random_moments(muster, a_name, 20)


@pytest.mark.smoke
def test_hosts_are_apart(lab_up):
    lab = lab_up(hosts=2)
    ids = {}
    for host in ("launcher", "n1", "n2"):
        ids[host] = lab.shell(host, "hostname; cat /etc/machine-id /proc/sys/kernel/random/boot_id; readlink /proc/self/ns/net "
                                    "/proc/self/ns/ipc /proc/self/ns/pid; cut -d' ' -f2 /etc/ssh/ssh_host_ed25519_key.pub").split()
        assert ids[host][0] == host
    for one, other, third in zip(*ids.values()):
        assert len({one, other, third}) == 3
    for folder in ("/tmp", "/dev/shm", "/home/" + lab.user, "/var/tmp"):
        lab.shell("n1", f"echo here > {folder}/only-on-n1")
        assert lab.exec("n2", "test", "-e", f"{folder}/only-on-n1").returncode == 1
        if folder != "/home/" + lab.user:
            assert not Path(folder, "only-on-n1").exists()
    assert lab.shell("n1", "id -un; id -u").split() == [lab.user, str(lab.uid)]
    assert lab.exec("n1", "id", "-u", root=True).stdout == "0\n"


def test_a_lab_in_a_chroot_has_hosts_of_its_own(muster, a_name, tmp_path):
    """n1 has its own name even if muster runs in a chroot. The chroot contains this machine's files, in a mount namespace that
    ends with the script."""
    script = """mount --rbind / "$1" && chroot "$1" "$2" lab up --name "$3" --nodes 1 >&2 &&
        chroot "$1" "$2" lab exec --name "$3" n1 -- cat /etc/hostname"""
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", tmp_path, muster, a_name]
    done = subprocess.run(words, capture_output=True, text=True, timeout=patient(60))
    assert done.stdout == "n1\n", done.stderr


def test_the_user_has_a_password_and_no_key(lab_up):
    lab = lab_up(hosts=1)
    assert lab.exec("n1", "ls", "-A", f"/home/{lab.user}").stdout == ".bashrc\n"
    assert lab.exec("launcher", "ls", "-A", f"/home/{lab.user}").stdout == ".bashrc\n"
    fingerprint = lab.shell("n1", "cat /etc/ssh/ssh_host_ed25519_key.pub")
    lab.write("launcher", "/tmp/known", "n1 " + fingerprint)
    ssh = ("ssh", "-o", "UserKnownHostsFile=/tmp/known", "-o", "StrictHostKeyChecking=yes", "n1", "hostname")
    refused = lab.exec("launcher", "ssh", "-o", "BatchMode=yes", *ssh[1:])
    assert refused.returncode == 255 and "Permission denied" in refused.stderr
    lab.write("launcher", "/tmp/password", lab.password, mode="600")
    assert lab.exec("launcher", "sshpass", "-f", "/tmp/password", *ssh).stdout == "n1\n"


def test_a_shared_folder_is_one_folder_everywhere(lab_up, tmp_path):
    tmp_path.chmod(0o777)
    lab = lab_up(hosts=2, share=tmp_path)
    lab.shell("n1", f"echo from n1 > {tmp_path}/file")
    assert lab.shell("n2", f"cat {tmp_path}/file") == "from n1\n"
    assert lab.shell("launcher", f"cat {tmp_path}/file") == "from n1\n"
    assert (tmp_path / "file").read_text() == "from n1\n"


def test_sharing_leaves_owner_and_mode_of_the_folder_alone(lab_up, muster, tmp_path):
    """Once, muster followed a link out of the host and made root the owner of the real folder."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    os.chown(real, 1234, 1234)
    real.chmod(0o2777)
    link.symlink_to(real)
    before = real.stat()
    lab = lab_up(hosts=1, share=link)
    lab.shell("n1", f"echo x > {real}/file")
    assert (real / "file").read_text() == "x\n"
    after = real.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)
    overlap = subprocess.run([muster, "lab", "up", "--name", "two-shares", "--nodes", "1", "--share", tmp_path, "--share", real],
                             capture_output=True, text=True, timeout=patient(10))
    assert overlap.returncode == 2 and f"shared directories overlap: {tmp_path} and {real}" in overlap.stderr


def test_a_lab_holds_nothing_of_its_caller(muster, a_name, tmp_path):
    """The lab inherits neither muster's umask nor its folder nor its open files."""
    up = f"umask 077; cd {tmp_path}; exec 9>held; exec {muster} lab up --name {a_name} --nodes 1"
    subprocess.run(["bash", "-c", up], check=True, capture_output=True, timeout=patient(60))
    mark = f"MUSTER_LAB=/run/muster-lab/{a_name}".encode()
    seen = 0
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or mark not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            seen += 1
            held = [os.readlink(fd) for fd in (entry / "fd").iterdir()] + [os.readlink(entry / "cwd")]
        except OSError:
            continue
        assert not [path for path in held if path.startswith(str(tmp_path))]
    assert seen >= 3  # the switch, the launcher and n1
    public = subprocess.run([muster, "lab", "exec", "--name", a_name, "n1", "--", "cat", "/etc/ssh/ssh_host_ed25519_key.pub"],
                            capture_output=True, timeout=patient(60))
    assert public.returncode == 0


def test_what_the_lab_needs_is_named_if_it_is_missing(muster, tmp_path):
    for name in ("nsenter", "ip", "tc", "ethtool", "ssh-keygen"):
        (tmp_path / name).symlink_to("/bin/true")
    done = subprocess.run([muster, "lab", "up", "--name", "lacking", "--nodes", "1"], env={"PATH": str(tmp_path)},
                          capture_output=True, text=True, timeout=patient(60))
    assert done.returncode == 5 and "'tini-static'" in done.stderr and "apt-get install" in done.stderr


def test_down_works_although_somebody_stands_in_the_lab(muster, a_name):
    timed(muster, "lab", "up", "--name", a_name, "--nodes", "1")
    with subprocess.Popen(["cat"], cwd=f"/run/muster-lab/{a_name}/disk/n1", stdin=subprocess.PIPE) as visitor:
        timed(muster, "lab", "down", "--name", a_name)
        visitor.stdin.close()
    assert not Path(f"/run/muster-lab/{a_name}").exists()


def test_interfaces_differ_between_hosts_and_networks(lab_up):
    lab = lab_up(hosts=3, nics=2, nic_names="eth0,ens5,eno1")
    names = {host: set(os.path.basename(p) for p in lab.shell(host, "ls /sys/class/net").split()) for host in lab.hosts}
    assert names == {"n1": {"lo", "ens5", "ens6"}, "n2": {"lo", "eno1", "eno2"}, "n3": {"lo", "eth0", "eth1"}}
    for name in ("n2", "n2-b", "launcher"):
        lab.shell("n1", f"ping -c1 -W2 {name}")


def test_the_launcher_lacks_what_it_shall_lack_and_all_have_muster(lab_up, tmp_path, muster):
    folder = "/usr/share/common-licenses"
    lab = lab_up(hosts=1, launcher_lacks=folder)
    assert lab.shell("launcher", f"ls {folder}") == ""
    assert "Apache-2.0" in lab.shell("n1", f"ls {folder}")
    assert lab.shell("launcher", "muster --version").startswith("muster ")
    assert lab.shell("n1", "muster --version").startswith("muster ")


def test_hosts_but_not_the_launcher_see_another_root(lab_up, muster, bare_root, tmp_path):
    lab = lab_up(hosts=1, rootfs=bare_root)
    programs = "for name in python3 ssh cmake rsync tini; do command -v $name; done"
    assert lab.exec("n1", "sh", "-c", programs).stdout == "/usr/bin/python3\n/usr/bin/ssh\n"
    assert "/usr/bin/cmake\n" in lab.exec("launcher", "sh", "-c", programs).stdout
    lab.shell("n1", "touch /var/mine", root=True)
    assert not (bare_root / "var/mine").exists()
    lab.open_doors()
    assert lab.shell("launcher", "ssh n1 hostname") == "n1\n"
    lab.command("restart", "n1")
    assert lab.shell("n1", "test -e /var/mine && ! command -v cmake; cat /proc/1/cmdline | tr '\\0' ' '").startswith("tini -- /usr/sbin/sshd ")
    refused = subprocess.run([muster, "lab", "up", "--name", "empty", "--nodes", "1", "--rootfs", tmp_path], capture_output=True, text=True)
    assert refused.returncode == 2 and "/usr/sbin/sshd" in refused.stderr and "mmdebstrap" in refused.stderr


def test_two_labs_do_not_see_each_other(lab_up):
    one, other = lab_up(hosts=1), lab_up(hosts=1)
    one.shell("n1", "echo one > /tmp/mark")
    assert other.exec("n1", "test", "-e", "/tmp/mark").returncode == 1
    assert one.status()["hosts"] == other.status()["hosts"]  # the same addresses, in separate networks
    other.command("kill", "n1")
    assert one.shell("launcher", "ping -c1 -W2 n1")


def test_wrong_requests_are_refused_with_a_reason(lab_up, muster):
    lab = lab_up(hosts=2)
    for words, code, said in [
        (["cut", "n3"], 2, "n1 to n2"),
        (["break", "n1", "nonsense"], 2, "docker0"),
        (["break", "n1", "port"], 2, "PORT"),
        (["link", "n1"], 2, "--rate"),
        (["link", "n1", "--rate", "fast"], 2, "100mbit"),
        (["exec", "n9", "--", "true"], 2, "n1 to n2"),
    ]:
        done = lab.command(*words, check=False)
        assert (done.returncode, said in done.stderr) == (code, True), (words, done.stderr)
    again = subprocess.run([muster, "lab", "up", "--name", lab.name, "--nodes", "1"], capture_output=True, text=True)
    assert again.returncode == 2 and f"muster lab down --name {lab.name}" in again.stderr
    missing = subprocess.run([muster, "lab", "status", "--name", "nowhere"], capture_output=True, text=True)
    assert missing.returncode == 2 and "muster lab up" in missing.stderr
    assert lab.exec("n1", "sh", "-c", "exit 7").returncode == 7
    assert lab.exec("n1", "no-such-program").returncode == 127


def test_without_root_it_says_so(muster, tmp_path):
    copy = Path("/tmp") / f"muster-noroot-{os.getpid()}"
    copy.write_bytes(muster.read_bytes())
    copy.chmod(0o755)
    try:
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy, "lab", "up", "--nodes", "2"],
                              capture_output=True, text=True, timeout=patient(10))
    finally:
        copy.unlink()
    assert done.returncode == 2
    assert "muster lab needs root" in done.stderr and "hint: run the same command with sudo" in done.stderr


@pytest.mark.alone
def test_dry_run_prints_the_plan_and_does_nothing(muster):
    before = machine()
    done = subprocess.run([muster, "lab", "up", "--name", "dry", "--nodes", "2", "--dry-run"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "mount -t overlay" in done.stdout and "in the namespaces of n2:" in done.stdout
    assert_nothing_left(before)
