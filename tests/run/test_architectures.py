"""A launcher with two builds of muster sends each host the one for its architecture.

The second build is the same program with a few bytes more, so it runs here. A fake `uname` makes a host report another architecture.
campaigns/arm64 uses a real build for arm64, on hosts whose shell and programs are for arm64 and run under qemu.
"""
import hashlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tests.conftest import made_once
from tests.mpi.mpis import DEPS
from tests.waiting import patient

pytestmark = pytest.mark.lab

UNAME = '#!/bin/sh\n[ "$*" = -m ] && { echo arm64; exit; }\nexec /usr/bin/uname "$@"\n'


@pytest.fixture(scope="module")
def installed(muster, shared_folder):
    """The folder in which muster is installed as from a package. Labs must start after it exists."""
    def install(folder):
        for name in ("bin/muster", "libexec/muster/muster-aarch64"):
            (folder / name).parent.mkdir(parents=True)
            shutil.copy(muster, folder / name)
        with (folder / "libexec/muster/muster-aarch64").open("ab") as file:
            file.write(b"for aarch64")
    return made_once(shared_folder / "two-builds", install)


@pytest.fixture
def lab(installed, lab_up):
    """Two hosts. n2 says that it is an arm64 machine."""
    lab = lab_up(hosts=2)
    lab.open_doors()
    lab.write("n2", "/usr/local/bin/uname", UNAME, mode="755", root=True)
    return lab


def binaries(lab, host):
    """Returns {path: hash} of the binaries that muster has copied to the host."""
    lines = lab.shell(host, f"sha256sum /tmp/muster-{lab.uid}/*/muster").splitlines()
    return {path: digest for digest, path in map(str.split, lines)}


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_each_host_gets_its_build_at_the_same_path(lab, installed):
    run = lab.exec("launcher", installed / "bin/muster", "run", "-H", "n1,n2", "-n", "2", "--", "hostname")
    assert run.returncode == 0, run.stderr
    assert sorted(line.split()[-1] for line in run.stdout.splitlines()) == ["n1", "n2"], run.stdout
    (path, ours), = binaries(lab, "n1").items()
    assert ours == sha256(installed / "bin/muster")
    assert binaries(lab, "n2") == {path: sha256(installed / "libexec/muster/muster-aarch64")}


def test_without_a_build_for_it_a_host_is_named_and_the_others_are_served(lab):
    missing = lab.binary_on_hosts.parent.parent / "libexec/muster/muster-aarch64"
    facts = lab.exec("launcher", lab.binary_on_hosts, "facts", "-H", "n1,n2")
    assert facts.returncode != 0 and "--- n1 ---" in facts.stdout and "--- n2 ---" not in facts.stdout, facts.stdout
    said = " ".join(facts.stderr.split())
    assert "n2: the host's architecture is aarch64, and no muster for aarch64 is installed on this machine" in said, facts.stderr
    assert str(missing) in said and "install muster from a package" in said, facts.stderr
    checked = lab.exec("launcher", lab.binary_on_hosts, "check", "-H", "n1,n2")
    told = checked.stdout + checked.stderr
    assert "no muster for aarch64 is installed on this machine" in " ".join(told.split()), told


@pytest.fixture
def on_machine(tmp_path):
    """Returns a function that runs a script here. `uname -m` answers in it with `machine`."""
    (tmp_path / "uname").write_text('#!/bin/sh\necho "$MACHINE"\n')
    (tmp_path / "uname").chmod(0o755)

    def run(machine, *words, **more):
        env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "MACHINE": machine, "CONTAINER_ENGINE": "/bin/echo"}
        return subprocess.run([*map(str, words)], capture_output=True, text=True, env=env, timeout=patient(30), **more)
    return run


def test_a_batch_script_starts_the_build_for_its_host(installed, on_machine):
    script = subprocess.run([installed / "bin/muster", "submit", "--dry-run", "-N", "2", "--", "true"], capture_output=True, text=True, check=True,
                            timeout=patient(30)).stdout
    assert 'exec "$muster" run -N 2' in script
    shown = script.replace('exec "$muster"', 'echo "$muster"')
    for machine, build in (("x86_64", "bin/muster"), ("aarch64", "libexec/muster/muster-aarch64")):
        done = on_machine(machine, "sh", input=shown)
        assert (done.returncode, done.stdout) == (0, f"{installed / build} run -N 2 -- true\n"), done
    # On a host with a package for its own architecture, the path of this muster holds the right one.
    assert on_machine("riscv64", "sh", input=shown).stdout.startswith(f"{installed / 'bin/muster'} run ")


def test_a_bundle_has_both_builds_and_starts_the_one_for_its_machine(muster, installed, tmp_path, on_machine):
    def bundle(program):
        words = ["setup", "--bundle", "bundle", "--owner", f"{os.getuid()}:{os.getgid()}", "-H", "n1,n2", "--image", "job"]
        return subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=patient(60)).stdout
    wrote, folder = bundle(installed / "bin/muster"), tmp_path / "bundle"
    builds = {"x86_64": installed / "bin/muster", "aarch64": installed / "libexec/muster/muster-aarch64"}
    for machine, build in builds.items():
        assert f"wrote {folder}/muster-{machine}" in wrote.splitlines()
        assert sha256(folder / f"muster-{machine}") == sha256(build)
        started = on_machine(machine, folder / "run-launcher.sh")
        assert started.returncode == 0 and f"{folder}/muster-{machine}:/usr/local/bin/muster:ro" in started.stdout.split(), started
        assert all(f"{folder}/muster-{one}:/usr/local/libexec/muster/muster-{one}:ro" in started.stdout.split() for one in builds), started
    assert "already up to date" in bundle(installed / "bin/muster")
    # A muster that is installed without the other build leaves no old one behind.
    bundle(muster)
    refused = on_machine("aarch64", folder / "run-launcher.sh")
    assert refused.returncode == 2 and refused.stdout == "" and refused.stderr.count("\n") == 1, refused
    assert "this bundle has no muster for this machine's architecture, aarch64; make the bundle again with a muster from a package" in refused.stderr


# Adds the files of Debian's arm64 packages to those of x86-64. Only programs of the same name are replaced: sh, uname, cat, stat, ...
BECOME_ARM64 = f"tar -C {DEPS}/arm64 -c bin lib usr/bin usr/lib/aarch64-linux-gnu | tar -x --keep-directory-symlink -C /"


@pytest.fixture(scope="module")
def installed_for_arm64(muster, shared_folder):
    """The folder in which the build under test is installed, and beside it the arm64 build that campaigns/arm64 has made."""
    def install(folder):
        for name, build in (("bin/muster", muster), ("libexec/muster/muster-aarch64", Path(os.environ["MUSTER_ARM64"]))):
            (folder / name).parent.mkdir(parents=True)
            shutil.copy(build, folder / name)
    return made_once(shared_folder / "for-arm64", install)


@pytest.fixture(scope="module")
def arm64(installed_for_arm64, module_lab_up):
    """Three hosts: n1 is x86-64, n2 and n3 are arm64."""
    lab = module_lab_up(hosts=3)
    lab.open_doors()
    for host in ("n2", "n3"):
        lab.exec(host, "/bin/bash", "-c", BECOME_ARM64, root=True, check=True, timeout=120)
        assert lab.shell(host, "uname -m").strip() == "aarch64"
    return lab


@pytest.fixture
def on_arm64(arm64, installed_for_arm64):
    """Returns a function that runs muster on the launcher, checks its exit code and prints how long it took."""
    def run(*words, codes=(0,)):
        start = time.monotonic()
        done = arm64.exec("launcher", installed_for_arm64 / "bin/muster", *words, timeout=180)
        print(f"\n| `muster {' '.join(words)}` | exit code {done.returncode}, {time.monotonic() - start:.1f} s |")
        assert done.returncode in codes, done.stdout + done.stderr
        return done
    return run


@pytest.mark.campaign
def test_arm64_hosts_answer_an_x86_64_launcher(arm64, on_arm64, installed_for_arm64):
    reported = map(json.loads, on_arm64("facts", "-H", "n[1-3]", "--json").stdout.splitlines())
    assert {host["host"]: host["cpu"]["architecture"] for host in reported} == {"n1": "x86_64", "n2": "aarch64", "n3": "aarch64"}
    (path, ours), = binaries(arm64, "n1").items()
    assert ours == sha256(installed_for_arm64 / "bin/muster")
    for host in ("n2", "n3"):
        assert binaries(arm64, host) == {path: sha256(installed_for_arm64 / "libexec/muster/muster-aarch64")}


@pytest.mark.campaign
def test_commands_run_on_arm64_hosts(on_arm64):
    assert "aarch64" in on_arm64("exec", "-H", "n2,n3", "uname", "-m").stdout


@pytest.mark.campaign
def test_check_knows_arm64_hosts_and_refuses_a_mixture(on_arm64):
    alike = on_arm64("check", "-H", "n2,n3", "--json")
    assert "mixed-endian-or-arch" not in alike.stdout, alike.stdout
    mixed = on_arm64("check", "-H", "n1,n2", "--json", codes=(123,))
    assert "mixed-endian-or-arch" in mixed.stdout, mixed.stdout


@pytest.mark.campaign
def test_a_job_runs_on_arm64_hosts(on_arm64):
    job = on_arm64("run", "-H", "n2,n3", "-n", "2", "--", "uname", "-m")
    assert [line.split()[-1] for line in job.stdout.splitlines()] == ["aarch64", "aarch64"], job.stdout + job.stderr


@pytest.mark.campaign
def test_a_program_for_x86_64_is_refused_on_arm64_hosts(on_arm64):
    job = on_arm64("run", "-H", "n2,n3", "-n", "2", "--", "/usr/bin/ssh", "-V", codes=(126,))
    assert "is built for x86_64, but the host's architecture is aarch64" in " ".join(job.stderr.split()), job.stderr
