"""Archives whose bytes depend only on their content and on SOURCE_DATE_EPOCH: entries are sorted, have one time and belong to root."""
import base64
import gzip
import hashlib
import io
import os
import re
import subprocess
import tarfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class File(NamedTuple):
    data: bytes
    executable: bool = False


Tree = dict[str, File]  # by path below the prefix


def project_version():
    """Returns the version from CMakeLists.txt, the only file that defines it."""
    return re.search(r"^project\(muster VERSION (\S+) ", (ROOT / "CMakeLists.txt").read_text(), flags=re.M)[1]


def source_date():
    """Returns the time of every file in the archives: SOURCE_DATE_EPOCH, or the time of the commit if that is not set."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        words = ["git", "-c", f"safe.directory={ROOT}", "-C", ROOT, "log", "-1", "--format=%ct"]
        given = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout
    return int(given)


def read_tree(folder):
    """Returns the files below a folder. A symbolic link counts as the file that it leads to."""
    return {str(path.relative_to(folder)): File(path.read_bytes(), os.access(path, os.X_OK)) for path in sorted(folder.rglob("*")) if path.is_file()}


def folders(tree):
    """Returns every folder that contains files of the tree, outer ones first."""
    return sorted({str(parent) for path in tree for parent in Path(path).parents} - {"."})


def write_folder(folder, tree):
    """Writes the files to disk with the modes that a package gives them, whatever the umask."""
    for path in ["", *folders(tree)]:
        (folder / path).mkdir(parents=True, exist_ok=True)
        (folder / path).chmod(0o755)
    for path, file in tree.items():
        (folder / path).write_bytes(file.data)
        (folder / path).chmod(0o755 if file.executable else 0o644)
        os.utime(folder / path, (source_date(), source_date()))


def write_tar(path, top, tree):
    """Writes a .tar.gz in which all files are below the folder `top`."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in ["", *folders(tree)]:
            add_to_tar(tar, tarfile.DIRTYPE, f"{top}/{name}".rstrip("/"), 0o755, b"")
        for name, file in sorted(tree.items()):
            add_to_tar(tar, tarfile.REGTYPE, f"{top}/{name}", 0o755 if file.executable else 0o644, file.data)
    write_gzip(path, packed.getvalue())


def add_to_tar(tar, kind, name, mode, data):
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.size, entry.mtime, entry.uname, entry.gname = kind, mode, len(data), source_date(), "root", "root"
    tar.addfile(entry, io.BytesIO(data))


def write_gzip(path, data):
    with path.open("wb") as out, gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=out, mtime=0) as packed:
        packed.write(data)


class Wheel(NamedTuple):
    """What the metadata of a wheel says. `platforms` are tags such as manylinux_2_17_x86_64."""
    name: str
    summary: str
    description: str
    platforms: list[str]
    requires: list[str] = []


def write_wheel(folder, wheel, tree):
    """Writes a wheel with these files, whose paths begin at the wheel's root, and adds metadata and licences. Returns its path."""
    name, version = wheel.name.replace("-", "_"), project_version()
    info = f"{name}-{version}.dist-info"
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in wheel.platforms)
    licences = {path: File((ROOT / path).read_bytes()) for path in ("LICENSE", "NOTICE")}
    metadata = "".join(f"{line}\n" for line in [
        "Metadata-Version: 2.4", f"Name: {wheel.name}", f"Version: {version}", f"Summary: {wheel.summary}", "License-Expression: Apache-2.0",
        *(f"License-File: {path}" for path in licences), "Requires-Python: >=3.8", *(f"Requires-Dist: {one}" for one in wheel.requires),
        "Classifier: Operating System :: POSIX :: Linux", "Description-Content-Type: text/markdown", "", wheel.description])
    files = dict(tree) | {f"{info}/licenses/{path}": file for path, file in licences.items()} | {
        f"{info}/METADATA": File(metadata.encode()),
        f"{info}/WHEEL": File(f"Wheel-Version: 1.0\nGenerator: muster\nRoot-Is-Purelib: false\n{tags}".encode())}
    rows = [f"{path},sha256={digest(file.data)},{len(file.data)}\n" for path, file in sorted(files.items())]
    files[f"{info}/RECORD"] = File("".join([*rows, f"{info}/RECORD,,\n"]).encode())
    made = folder / f"{name}-{version}-py3-none-{'.'.join(sorted(wheel.platforms))}.whl"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for path, file in sorted(files.items(), key=lambda item: (item[0].startswith(info), item[0])):
            entry = zipfile.ZipInfo(path, time.gmtime(source_date())[:6])
            entry.external_attr = (0o100755 if file.executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, file.data)
    return made


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
