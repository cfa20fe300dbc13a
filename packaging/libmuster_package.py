"""The two packages of libmuster: its source, and a wheel for the PyTorch that it was built against."""
import re
import subprocess
from pathlib import Path

from archives import ROOT, File, Wheel, project_version, read_tree, write_gzip, write_tar, write_wheel

HERE = ROOT / "packaging/libmuster"
# What `cmake -DMUSTER_LIBRARY_ONLY=ON` reads.
SOURCES = ("CMakeLists.txt", "LICENSE", "NOTICE", "cmake", "include", "src/CMakeLists.txt", "src/base", "src/engines", "src/mpi", "src/rankenv", "src/recorder", "src/torch")


def must(*words):
    return subprocess.run([*map(str, words)], check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=300).stdout


def git(*words):
    return must("git", "-c", f"safe.directory={ROOT}", "-C", ROOT, *words)


def source_tree(*paths):
    """Returns the files of the last commit at these paths, or all of its files if no path is given."""
    names = git("ls-tree", "-r", "-z", "--format=%(objectmode) %(path)", "HEAD", "--", *paths).decode().split("\0")[:-1]
    return {path: File(git("show", f"HEAD:{path}"), mode == "100755") for mode, path in (name.split(" ", 1) for name in names)}


def make_source(folder):
    """Packs the source of libmuster alone, to be built with CMake against any PyTorch that it supports. Returns the package's path."""
    top = f"libmuster-{project_version()}"
    made = folder / f"{top}.tar.gz"
    write_tar(made, top, source_tree(*SOURCES) | {"README.md": File((HERE / "README.md").read_bytes())})
    return made


def make_whole_source(folder):
    """Packs all of muster as it is in the last commit. Distributions and Spack build their packages from this."""
    top = f"muster-{project_version()}"
    write_gzip(folder / f"{top}.tar.gz", git("archive", "--format=tar", f"--prefix={top}/", "HEAD"))


def pytorch_minor(installed):
    """Returns the minor version of PyTorch, such as 2.13, for which the installed CMake package accepts programs."""
    return re.search(r"built against PyTorch (\d+\.\d+)\.", (installed / "lib/cmake/Muster/MusterConfig.cmake").read_text())[1]


def make_wheel(folder, installed, machine):
    """Makes a wheel of what `cmake --install --component libmuster` wrote to the folder `installed`. The library finds PyTorch
    beside itself, in site-packages."""
    minor = pytorch_minor(installed)
    major, number = minor.split(".")
    wanted = {path: file for path, file in read_tree(installed).items() if path.startswith(("include/", "lib/"))}
    name = f"lib/libmuster.so.{'.'.join(project_version().split('.')[:2])}"
    # A wheel cannot contain symbolic links. So it has the library once, under the name that programs load, and a linker script
    # named libmuster.so that refers to it.
    tree = {path: file for path, file in wanted.items() if not Path(path).name.startswith("libmuster.so")} | {
        name: wanted[name], "lib/libmuster.so": File(f"INPUT({Path(name).name})\n".encode())}
    files = {f"libmuster/{path}": file for path, file in tree.items()} | {
        f"libmuster/{path.name}": File(path.read_bytes()) for path in sorted(HERE.glob("*.py"))}
    requires = [f"torch>={minor},<{major}.{int(number) + 1}"]
    summary = f"Distributed training in C++ with PyTorch {minor}: the library, its headers and its CMake package"
    return write_wheel(folder, Wheel("libmuster", summary, (HERE / "README.md").read_text(), [f"linux_{machine}"], requires), files)
