"""The packages of the command, made from the binary under test: what is in them, and what installing and removing them leaves.

campaigns/packages does the same in an empty Debian, with every package of a release."""
import json
import os
import platform
import re
import runpy
import subprocess
import sys
import tarfile
import zipfile

import pytest
from archives import File, project_version, source_date
from tests.docs.pages import take
from tests.mpi.mpis import DEPS
from tests.waiting import patient

CHECK_SUMS = take("docs/install.md", "sha256sum --check")
USE_TARBALL = take("docs/install.md", "mkdir -p ~/.local/opt")
SHARED = {"share/bash-completion/completions/muster", "share/doc/muster/LICENSE", "share/doc/muster/NOTICE",
          "share/fish/vendor_completions.d/muster.fish", "share/zsh/site-functions/_muster"}


def must(*words, **options):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=patient(60), **options)
    assert done.returncode == 0, f"{done.args}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def packer(root):
    """Returns the functions of packaging/command_packages."""
    return runpy.run_path(str(root / "packaging/command_packages"))


@pytest.fixture(scope="module")
def made(root, muster, tmp_path_factory):
    """Makes the packages and returns their folder."""
    folder = tmp_path_factory.mktemp("packages")
    must(root / "packaging/command_packages", folder, muster)
    return folder


@pytest.fixture(scope="module")
def wanted(muster, tmp_path_factory):
    """Returns the files that must be below the prefix: the command, licences, completion, and a man page for each command."""
    folder = tmp_path_factory.mktemp("man")
    must(muster, "man", "--to", folder)
    pages = {f"share/man/man1/{path.name}" for path in folder.iterdir()}
    assert "share/man/man1/muster-run.1" in pages
    return SHARED | {"bin/muster"} | pages


def only(folder, pattern):
    (found,) = folder.glob(pattern)
    return found


def files_below(folder):
    """Returns files and folders, so that an empty folder counts too."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def says_version(binary):
    assert must(binary, "--version") == f"muster {project_version()}\n"


def test_tarball_runs_from_any_folder(made, wanted, tmp_path):
    with tarfile.open(only(made, "*.tar.gz")) as tar:
        members = tar.getmembers()
        tar.extractall(tmp_path)
    top = f"muster-{project_version()}-linux-{os.uname().machine}"
    assert {one.name.removeprefix(f"{top}/") for one in members if one.isfile()} == wanted
    assert {(one.uid, one.gid, one.mtime) for one in members} == {(0, 0, source_date())}
    assert [one.name for one in members if one.isfile() and one.mode & 0o111] == [f"{top}/bin/muster"]
    says_version(tmp_path / top / "bin/muster")


def test_hashes_and_tarball_are_used_as_the_page_says(root, made, tmp_path):
    for path in made.iterdir():
        (tmp_path / path.name).symlink_to(path)
    runpy.run_path(str(root / "tools/release"))["write_sums"](tmp_path)
    script = "\n".join([*CHECK_SUMS, *USE_TARBALL, "command -v muster"]).replace("x86_64", os.uname().machine)
    said = must("bash", "-ec", script, cwd=tmp_path, env={"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"})
    assert said.count(": OK\n") == 4
    assert said.endswith(f"{tmp_path}/home/.local/opt/muster-{project_version()}-linux-{os.uname().machine}/bin/muster\n")


def test_wheel_puts_the_binary_into_bin_and_is_removed_without_trace(made, wanted, muster, tmp_path):
    must("/usr/bin/python3", "-m", "venv", "--without-pip", tmp_path / "venv")
    before = files_below(tmp_path / "venv")
    pip = [DEPS / "tools/bin/python", "-m", "pip", "--python", tmp_path / "venv/bin/python", "--disable-pip-version-check"]
    must(*pip, "install", "--no-index", only(made, "*.whl"))
    new = files_below(tmp_path / "venv") - before
    info = next(path for path in new if path.endswith(".dist-info"))
    assert {path for path in new if (tmp_path / "venv" / path).is_file() and not path.startswith(info)} == {path for path in wanted if "/doc/" not in path}
    assert {f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE"} <= new
    assert (tmp_path / "venv/bin/muster").read_bytes() == muster.read_bytes()  # the binary itself, not a script that starts it
    says_version(tmp_path / "venv/bin/muster")
    must(*pip, "uninstall", "--yes", "muster-cli")
    left = {path for path in files_below(tmp_path / "venv") - before if (tmp_path / "venv" / path).is_file()}
    assert left == set()


def test_wheel_states_its_files_and_every_linux(made):
    wheel = only(made, "*.whl")
    with zipfile.ZipFile(wheel) as packed:
        (record,) = [name for name in packed.namelist() if name.endswith("RECORD")]
        assert {line.split(",")[0] for line in packed.read(record).decode().splitlines()} == set(packed.namelist())
        metadata = packed.read(record.replace("RECORD", "METADATA")).decode()
    assert f"Name: muster-cli\nVersion: {project_version()}\n" in metadata
    assert re.search(r"-py3-none-manylinux2014_\w+\.manylinux_2_17_\w+\.musllinux_1_1_\w+\.whl$", wheel.name)


@pytest.mark.skipif(os.geteuid() != 0, reason="dpkg and rpm install as root")
def test_deb_installs_and_is_removed_without_trace(made, wanted, tmp_path):
    deb = only(made, "*.deb")
    (tmp_path / "var/lib/dpkg/updates").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/info").mkdir()
    for name in ("status", "available"):
        (tmp_path / "var/lib/dpkg" / name).touch()
    dpkg = ["dpkg", f"--root={tmp_path}", "--force-script-chrootless", f"--log={tmp_path}/var/lib/dpkg/log"]
    must(*dpkg, "--install", deb)
    in_debian = {path.replace("zsh/site-functions", "zsh/vendor-completions") for path in wanted} | {"share/doc/muster/copyright"}
    assert {path for path in files_below(tmp_path / "usr") if (tmp_path / "usr" / path).is_file()} == in_debian
    assert must("dpkg-query", f"--admindir={tmp_path}/var/lib/dpkg", "-W", "-f", "${Version} ${Status}", "muster") == f"{project_version()}-1 install ok installed"
    says_version(tmp_path / "usr/bin/muster")
    must(*dpkg, "--purge", "muster")
    assert not (tmp_path / "usr").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="dpkg and rpm install as root")
def test_rpm_installs_and_is_removed_without_trace(made, wanted, tmp_path):
    rpm = ["rpm", "--root", tmp_path, "--dbpath", "/var/lib/rpm"]
    must(*rpm, "--initdb")
    must(*rpm, "--install", only(made, "*.rpm"))  # without --nodeps: it needs nothing
    assert {path for path in files_below(tmp_path / "usr") if (tmp_path / "usr" / path).is_file()} == wanted
    assert must(*rpm, "--query", "muster", "--queryformat", "%{VERSION}-%{RELEASE}.%{ARCH}") == f"{project_version()}-1.{os.uname().machine}"
    says_version(tmp_path / "usr/bin/muster")
    must(*rpm, "--erase", "muster")
    assert [path for path in files_below(tmp_path / "usr") if "muster" in path or (tmp_path / "usr" / path).is_file()] == []


def test_packages_hold_the_other_machines_binary(packer):
    binaries = {"x86_64": b"one", "aarch64": b"two"}
    for machine, other in (("x86_64", "aarch64"), ("aarch64", "x86_64")):
        tree = packer["command_tree"](machine, binaries, {})
        assert tree == {"bin/muster": File(binaries[machine], True), f"libexec/muster/muster-{other}": File(binaries[other], True)}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("kind", ["tarball", "wheel", "deb", "rpm"])
def test_time_umask_and_folder_leave_no_mark(packer, kind, machine, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    tree = {"bin/muster": File(b"binary", True), "share/doc/muster/LICENSE": File(b"text"), "libexec/muster/muster-other": File(b"more", True)}
    made = []
    for name, mask, items in (("a", 0o022, tree.items()), ("longer-name", 0o077, reversed(tree.items()))):
        (tmp_path / name).mkdir()
        monkeypatch.setenv("TMPDIR", str(tmp_path / name))
        before = os.umask(mask)
        try:
            packer[f"make_{kind}"](tmp_path / name, machine, dict(items))
        finally:
            os.umask(before)
        made.append([(path.name, path.read_bytes()) for path in (tmp_path / name).iterdir()])
    assert len(made[0]) == 1 and made[0] == made[1]
    assert re.search({"x86_64": "x86_64|amd64", "aarch64": "aarch64|arm64"}[machine], made[0][0][0])


def test_binary_of_another_version_is_refused(root, tmp_path):
    """command_packages refuses a script, because it is no program for a machine, and a program of another version, because it was
    not built from this tree."""
    script = tmp_path / "muster"
    script.write_text("#!/bin/sh\necho muster 99.0.0\n")
    script.chmod(0o755)
    for binary, why in ((script, "is no program for x86_64 or aarch64"), ("/bin/true", "CMakeLists.txt says")):
        done = subprocess.run([root / "packaging/command_packages", tmp_path / "out", binary], capture_output=True, text=True, timeout=patient(60))
        assert done.returncode != 0 and why in done.stderr


def test_sbom_is_valid_and_names_what_is_linked(root, muster, tmp_path):
    if not (muster.parent.parent / "build.ninja").is_file():
        pytest.skip(f"{muster} is in no build tree, so what it is made of cannot be looked at")
    file = tmp_path / "muster.spdx.json"
    must(root / "packaging/sbom", muster.parent.parent, "bin/muster", "muster", platform.machine(), file)
    must(DEPS / "schemas/bin/pyspdxtools", "--infile", file)
    document = json.loads(file.read_text())
    libuv = next(one for one in document["packages"] if one["name"] == "libuv1-dev")
    assert libuv["versionInfo"] == must("dpkg-query", "-W", "-f", "${Version}", "libuv1-dev")
    assert libuv["licenseDeclared"] == "MIT AND ISC AND BSD-2-Clause"
    assert {one["name"] for one in document["packages"]} > {"muster", "libc6-dev", "libstdc++-12-dev", "libre2-dev", "libyaml-cpp-dev"}
    # pyspdxtools does check the document: it refuses a licence that SPDX does not know.
    file.write_text(file.read_text().replace('"CC0-1.0"', '"CC0-9.9"'))
    assert subprocess.run([DEPS / "schemas/bin/pyspdxtools", "--infile", file], capture_output=True, timeout=patient(60)).returncode != 0


def test_version_is_defined_in_one_place(root):
    """Pages may mention a version. Anything else that needs it reads CMakeLists.txt."""
    words = ["git", "-c", f"safe.directory={root}", "ls-files", "-z"]
    version = re.compile(rb"(?<![\d.])" + re.escape(project_version()).encode() + rb"(?![\d.])")
    found = [name for name in must(*words, cwd=root).split("\0")[:-1]
             if not name.endswith(".md") and not name.startswith(("tools/requirements/", "docs/results/")) and version.search((root / name).read_bytes())]
    assert found == ["CMakeLists.txt"]


def test_changelog_has_the_version(root):
    """Below [Unreleased], which stays on top, the newest section is the version that CMakeLists.txt names."""
    sections = re.findall(r"^## \[(.+?)\]", (root / "CHANGELOG.md").read_text(), flags=re.M)
    assert sections[:2] == ["Unreleased", project_version()]


def test_spack_recipe_is_python_and_names_what_cmake_knows(root, monkeypatch):
    """Runs the recipe with replacements for what it imports from Spack."""
    said = []
    names = {name: (lambda *words, name=name, **options: said.append((name, words, options)))
             for name in ("conflicts", "depends_on", "generator", "license", "requires", "version")}
    for module in (type(sys)("spack.package"), type(sys)("spack_repo.builtin.build_systems.cmake")):
        vars(module).update(names, CMakePackage=object, run_after=lambda phase: lambda function: function)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    recipe = runpy.run_path(str(root / "packaging/spack/package.py"))["MusterCli"]()
    assert ("version", ("@VERSION@",), {"sha256": "@SHA256@"}) in said
    recipe.define = lambda name, value: name
    options = (root / "CMakeLists.txt").read_text() + (root / "cmake/Training.cmake").read_text()
    assert [name for name in recipe.cmake_args() if not re.search(rf"(option|set)\({name} ", options)] == []
    found = {words[0].split("@")[0] for name, words, options in said if name == "depends_on" and "type" not in options}
    assert found == {"cli11", "fmt", "libuv", "libxcrypt", "nlohmann-json", "re2", "tl-expected", "xxhash", "yaml-cpp"}


def test_cmake_takes_headers_and_libraries_from_one_prefix(root, tmp_path):
    """Spack's yaml-cpp has no static library. The system's static one must not be linked instead, because its headers may differ."""
    header, library = tmp_path / "prefix/include/yaml-cpp/yaml.h", tmp_path / "prefix/lib/libyaml-cpp.so"
    for path in (header, library):
        path.parent.mkdir(parents=True)
        path.touch()
    must("cmake", "-S", root, "-B", tmp_path / "build", "-G", "Ninja", "-DMUSTER_TRAINING=OFF", "-DMUSTER_STATIC=OFF", f"-DCMAKE_PREFIX_PATH={tmp_path}/prefix")
    rules = (tmp_path / "build/build.ninja").read_text()
    assert {word for word in rules.split() if word.endswith(("libyaml-cpp.so", "libyaml-cpp.a"))} == {str(library)}
    commands = json.loads((tmp_path / "build/compile_commands.json").read_text())
    assert [one["file"] for one in commands if f"-isystem {tmp_path}/prefix/include " not in one["command"]] == []
