"""A root file system for lab hosts: a minimal Debian with sshd and Python, and nothing else."""
import re
import subprocess

# With their dependencies and every Essential package, these are the packages that `mmdebstrap --variant=minbase
# --include=openssh-server,python3` installs.
WANTED = ("apt", "openssh-server", "python3")
FIELDS = "${Package}\t${Provides}\t${Essential}\t${Pre-Depends}, ${Depends}\n"
NOT_NEEDED = ("/usr/share/doc/", "/usr/share/info/", "/usr/share/locale/", "/usr/share/man/")


def said(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60, **options).stdout


def names(relations):
    """Parses "a (>= 1) | b:any, c" into [["a", "b"], ["c"]]."""
    groups = [re.findall(r"(?:^|\|)\s*([a-z0-9][a-z0-9+.-]+)", group) for group in relations.split(",")]
    return [group for group in groups if group]


def packages():
    """Returns this machine's packages for such a system: the wanted ones and their dependencies."""
    provider, depends, todo = {}, {}, list(WANTED)
    for line in said("dpkg-query", "-W", "-f", FIELDS).splitlines():
        package, provides, essential, relations = line.split("\t")
        depends[package] = names(relations)
        provider[package] = package
        for (name, *_) in names(provides):
            provider.setdefault(name, package)
        if essential == "yes":
            todo.append(package)
    found = set()
    while todo:
        package = todo.pop()
        if package in found:
            continue
        found.add(package)
        todo += [next(provider[name] for name in group if name in provider) for group in depends[package]]
    return sorted(found)


def make_bare_root(folder):
    """Fills the folder with the files of these packages from this machine."""
    paths = said("dpkg-query", "-L", *packages()).splitlines()
    wanted = [path[1:] for path in paths if path.startswith("/") and path != "/." and not path.startswith(NOT_NEEDED)]
    # /bin, /lib, /lib64 and /sbin are links to the folders in /usr.
    first = [top + name for top in ("usr/", "") for name in ("bin", "lib", "lib64", "sbin")]
    with subprocess.Popen(["tar", "-C", "/", "--no-recursion", "--ignore-failed-read", "-cf", "-", *first, "-T", "-"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as pack:
        with subprocess.Popen(["tar", "-C", folder, "-xpf", "-"], stdin=pack.stdout) as unpack:
            pack.stdin.write("\n".join(dict.fromkeys(wanted)).encode())
            pack.stdin.close()
            assert unpack.wait(timeout=120) == 0
    assert (folder / "usr/sbin/sshd").exists() and (folder / "usr/bin/python3").exists()
