"""A launcher with two builds of muster sends each host the one for its architecture.

The second build is the same program with a few bytes more, so it runs here; a `uname` of its own makes a host one of another architecture.
campaigns/arm64 does the same with a real arm64 build under qemu.
"""
import hashlib
import shutil

import pytest
from tests.conftest import made_once

pytestmark = pytest.mark.lab

UNAME = '#!/bin/sh\n[ "$*" = -m ] && { echo arm64; exit; }\nexec /usr/bin/uname "$@"\n'


@pytest.fixture(scope="module")
def installed(muster, shared_folder):
    """As from a package; labs come up after this."""
    def install(folder):
        for name in ("bin/muster", "libexec/muster/muster-aarch64"):
            (folder / name).parent.mkdir(parents=True)
            shutil.copy(muster, folder / name)
        with (folder / "libexec/muster/muster-aarch64").open("ab") as file:
            file.write(b"for aarch64")
    return made_once(shared_folder / "two-builds", install)


@pytest.fixture
def lab(installed, lab_up):
    """Two hosts; n2 says that it is an arm64."""
    lab = lab_up(hosts=2)
    lab.open_doors()
    lab.write("n2", "/usr/local/bin/uname", UNAME, mode="755", root=True)
    return lab


def binaries(lab, host):
    """Hashes of what was brought to the host, by path."""
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
    assert "no muster for aarch64 is installed on this machine" in " ".join((checked.stdout + checked.stderr).split()), checked.stdout + checked.stderr
