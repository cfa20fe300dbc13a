"""What a binary is made of: the Debian packages whose archives the linker takes, or whose headers the binary's objects include."""
import os
import re
import subprocess
import tempfile
from pathlib import Path


def ninja(build, *words):
    return subprocess.run(["ninja", "-C", build, "-t", *words], capture_output=True, text=True, check=True, timeout=120).stdout


def link_command(build, target):
    return [line for line in ninja(build, "commands", "-s", target).splitlines() if f" -o {target} " in line][-1]


def system_folder(build, target):
    """Returns the folder with the system for which a cross compiler builds; "" for this system."""
    named = re.search(r"--sysroot=(\S+)", link_command(build, target))
    return os.path.realpath(named[1]) if named else ""


def linked_files(build, target):
    """Returns the system's archives and headers from which the target is made, as the linker and the compiler report them."""
    link, system = link_command(build, target), system_folder(build, target)
    with tempfile.TemporaryDirectory() as folder:
        link = link.replace(f" -o {target} ", f" -Wl,--trace -o {folder}/linked ")
        trace = subprocess.run(["sh", "-c", link], cwd=build, capture_output=True, text=True, check=True, timeout=300).stdout
    archives = re.findall(r"^\(?(/[^()\n]+?\.a)\b", trace, flags=re.M)
    objects = set(ninja(build, "inputs", target).splitlines())
    entries = [entry.split("\n") for entry in ninja(build, "deps").split("\n\n")]
    headers = [line.strip() for first, *lines in entries if first.split(":")[0] in objects for line in lines]
    found = {os.path.realpath(file) for file in archives + headers if not Path(file).resolve().is_relative_to(build.resolve())}
    return sorted(file for file in found if file.startswith(("/usr/", f"{system}/usr/")))


def query(system, *words):
    """Asks the dpkg database of the system in that folder."""
    done = subprocess.run(["dpkg-query", f"--admindir={system}/var/lib/dpkg", *words], capture_output=True, text=True, timeout=120)
    if done.returncode:
        repair = "\nTo make it anew, run: sudo tools/install_deps --arm64" if system else ""
        raise RuntimeError(f"dpkg-query failed in {system or '/'}:\n{done.stderr}{repair}")
    return done.stdout.splitlines()


def linked_packages(build, target):
    """Returns the Debian packages that own these files: {name: (version, architecture, source package, version of the source package)}."""
    form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\n"
    system, packages = system_folder(build, target), {}
    files = {"": [], system: []}
    for file in linked_files(build, target):
        files[system if file.startswith(f"{system}/") else ""].append(file)
    for folder, of_folder in files.items():
        owners = query(folder, "--search", *(file.removeprefix(folder) for file in of_folder)) if of_folder else []
        names = {line.rsplit(": ", 1)[0].split(",")[0] for line in owners}  # with their architecture, such as libc6-dev:arm64
        known = [line.split("\t") for line in (query(folder, "-W", "-f", form, *names) if names else [])]
        packages |= {name: tuple(rest) for name, *rest in known}
    return packages
