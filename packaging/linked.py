"""What a binary is made of: the Debian packages whose archives the linker takes, or whose headers the binary's objects include."""
import os
import re
import subprocess
import tempfile
from pathlib import Path


def ninja(build, *words):
    return subprocess.run(["ninja", "-C", build, "-t", *words], capture_output=True, text=True, check=True, timeout=120).stdout


def linked_files(build, target):
    """Returns the system's archives and headers from which the target is made, as the linker and the compiler report them."""
    link = [line for line in ninja(build, "commands", "-s", target).splitlines() if f" -o {target} " in line][-1]
    with tempfile.TemporaryDirectory() as folder:
        link = link.replace(f" -o {target} ", f" -Wl,--trace -o {folder}/linked ")
        trace = subprocess.run(["sh", "-c", link], cwd=build, capture_output=True, text=True, check=True, timeout=300).stdout
    archives = re.findall(r"^\(?(/[^()\n]+?\.a)\b", trace, flags=re.M)
    objects = set(ninja(build, "inputs", target).splitlines())
    entries = [entry.split("\n") for entry in ninja(build, "deps").split("\n\n")]
    headers = [line.strip() for first, *lines in entries if first.split(":")[0] in objects for line in lines if line.startswith("    /usr/")]
    found = {os.path.realpath(file) for file in archives + headers if not Path(file).resolve().is_relative_to(build.resolve())}
    return sorted(file for file in found if file.startswith("/usr/"))


def linked_packages(build, target):
    """Returns the names of the Debian packages that own these files, without their architecture."""
    files = linked_files(build, target)
    owners = subprocess.run(["dpkg-query", "--search", *files], capture_output=True, text=True, timeout=120)
    if owners.returncode:
        raise RuntimeError(f"dpkg-query does not know the package of a file in {target}:\n{owners.stderr}")
    return {re.split("[:,]", line)[0] for line in owners.stdout.splitlines()}
