"""Properties of the binary as a file, and how it passes on the words of other programs."""
import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from linked import linked_packages
from tests.conftest import is_release
from tests.waiting import patient

pytestmark = pytest.mark.smoke


def run(muster, *words, **options):
    return subprocess.run([muster, *words], capture_output=True, text=True, timeout=patient(30), **options)


def test_is_fully_static(muster):
    headers = subprocess.run(["readelf", "--program-headers", "--dynamic", "--wide", muster],
                             capture_output=True, text=True, check=True).stdout
    assert "LOAD" in headers, "readelf told nothing"
    assert "INTERP" not in headers, "needs a dynamic loader"
    assert "NEEDED" not in headers, "needs shared libraries"


def test_is_hardened_against_memory_errors(muster):
    """The binary has random addresses (a static PIE), no memory that is both writable and executable, and relocations that are read-only after the
    start."""
    headers = subprocess.run(["readelf", "--file-header", "--program-headers", "--dynamic", "--wide", muster],
                             capture_output=True, text=True, check=True).stdout
    assert re.search(r"Type: +DYN", headers) and re.search(r"FLAGS_1.*\bNOW\b.*\bPIE\b", headers), headers
    assert re.search(r"GNU_STACK .* RW +0x", headers) and not re.search(r" RWE +0x", headers), headers
    assert "GNU_RELRO" in headers, headers


def test_is_compiled_with_checks_of_buffers(muster):
    build = muster.parent.parent
    if not is_release(muster) or not (build / "build.ninja").is_file():
        pytest.skip("only a release build is compiled so, and only its build tree shows it")
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", "bin/muster"], capture_output=True, text=True, check=True).stdout
    compiled = [line for line in commands.splitlines() if re.search(r" -c \S+\.(cpp|cxx)$", line)]
    assert compiled, commands
    assert [line for line in compiled if "-fstack-protector-strong" not in line or "-D_FORTIFY_SOURCE=3" not in line] == []


def test_links_no_torch_mpi_or_python(muster):
    build = muster.parent.parent
    if not (build / "build.ninja").is_file():
        pytest.skip(f"{muster} lies in no build tree, so its link line cannot be looked at")
    link = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", "bin/muster"],
                          capture_output=True, text=True, check=True).stdout
    libraries = [Path(w).name for w in link.split() if re.search(r"\.(a|so)\b|^-l", w)]
    assert any("libmuster_base" in name for name in libraries), link
    assert not [n for n in libraries if re.search(r"torch|c10|mpi|python", n, flags=re.I)]


def test_notice_names_every_library_in_the_binary(root, muster):
    build = muster.parent.parent
    if not (build / "build.ninja").is_file():
        pytest.skip(f"{muster} is in no build tree, so what it is made of cannot be looked at")
    sections = re.findall(r"^(.+)\nDebian package: (.+)$", (root / "NOTICE").read_text(), flags=re.M)
    named = {name for title, names in sections if "only in libmuster" not in title for name in names.split(", ")}
    assert named == set(linked_packages(build, "bin/muster"))


def test_holds_no_torch_types(muster):
    """Even a stripped binary contains the names of C++ types with virtual functions, so PyTorch's would be seen."""
    types = re.findall(rb"\0(N\d+\w+E)\0", muster.read_bytes())
    assert [name for name in types if name.startswith(b"N6muster")], "muster's own types are not seen"
    assert not [name for name in types if re.match(rb"N(3c10|4c10d|5torch|2at|8pybind11)\d", name)]


@pytest.mark.parametrize("most_s", [0.2, pytest.param(0.020, marks=pytest.mark.campaign)])
def test_version_is_quick(muster, most_s):
    """The limit is generous for a busy machine but detects work that does not belong there."""
    if not is_release(muster):
        pytest.skip("times are those of a release build")

    assert re.fullmatch(r"muster \d+\.\d+\.\d+\n", run(muster, "--version").stdout)
    silence = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]

    def seconds():
        """Returns the time from spawn to end; subprocess.run would add its own."""
        start = time.perf_counter()
        pid = os.posix_spawn(muster, [muster, "--version"], os.environ, file_actions=silence)
        assert os.waitpid(pid, 0)[1] == 0
        return time.perf_counter() - start

    assert min(seconds() for _ in range(10)) < most_s


def test_the_other_programs_words_are_left_alone(muster, tmp_path):
    """Words after "--" reach the host as typed. A script that prints its last word replaces ssh."""
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nfor word; do :; done\nprintf "%s\\n" "$word"\n')
    ssh.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    ended = run(muster, "exec", "-H", "n1", "--", "train", "--batch_size=3", env=environment)
    assert ended.returncode == 0, ended.stderr
    assert "train --batch_size=3" in ended.stdout


def test_install_puts_the_binary_in_place(muster, tmp_path):
    build = muster.parent.parent
    if not (build / "cmake_install.cmake").is_file():
        pytest.skip(f"{muster} lies in no build tree")
    subprocess.run(["cmake", "--install", build, "--prefix", tmp_path, "--component", "muster"], check=True, capture_output=True, timeout=patient(60))
    installed = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert installed == ["bin/muster", "share/doc/muster/LICENSE", "share/doc/muster/NOTICE"]
    assert run(tmp_path / "bin/muster", "--version").stdout == run(muster, "--version").stdout
