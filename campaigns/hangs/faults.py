"""Faults that the driver makes from outside the job, each with a way to undo it."""
import contextlib
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

RANK_NAMES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK")


class CannotBeMade(Exception):
    """This machine lacks something that the fault needs."""


def until(condition, what, within=10):
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            raise CannotBeMade(f"not within {within} s: {what}")
        time.sleep(0.05)


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def process_of_rank(lab_name, program, rank):
    """Returns the pid of the rank's program, not that of its launcher or of a process that it forked."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        words = [os.path.basename(os.fsdecode(word)) for word in read(folder / "cmdline").split(b"\0")]
        if program not in words[:2] or words[0] == "muster":
            continue
        pairs = dict(os.fsdecode(pair).partition("=")[::2] for pair in read(folder / "environ").split(b"\0"))
        if next((pairs[name] for name in RANK_NAMES if name in pairs), None) != str(rank):
            continue
        if f"/run/muster-lab/{lab_name}" not in {value.rstrip("/") for value in pairs.values()} and not in_lab(folder, lab_name):
            continue
        status = read(folder / "status").decode()
        found[int(folder.name)] = int(status.partition("PPid:")[2].split()[0])
    own = [pid for pid, parent in found.items() if parent not in found]
    if len(own) != 1:
        raise CannotBeMade(f"found {len(own)} processes of rank {rank}")
    return own[0]


def in_lab(folder, lab_name):
    """Returns whether the process at /proc/PID (`folder`) belongs to the lab. Its environment may not show that, but its mounts always do."""
    with contextlib.suppress(OSError):
        return f"/muster-lab/{lab_name}/" in (folder / "mountinfo").read_text()
    return False


def stop_rank(scene, rank):
    pid = process_of_rank(scene.hosts.name, scene.case["program"], rank)
    os.kill(pid, signal.SIGSTOP)
    scene.undo.callback(send, pid, signal.SIGCONT)


def send(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


@contextlib.contextmanager
def freezer():
    """Yields the folder where the freezer of cgroup version 1 is mounted."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, options = line.split()[:4]
        if kind == "cgroup" and "freezer" in options.split(","):
            yield Path(place)
            return
    place = tempfile.mkdtemp(prefix="muster-freezer-")
    if subprocess.run(["mount", "-t", "cgroup", "-o", "freezer", "freezer", place], capture_output=True).returncode:
        os.rmdir(place)
        raise CannotBeMade("the kernel has no freezer of version 1")
    try:
        yield Path(place)
    finally:
        subprocess.run(["umount", place], check=True)
        os.rmdir(place)


def freeze_rank(scene, rank):
    pid = process_of_rank(scene.hosts.name, scene.case["program"], rank)
    mounted = scene.undo.enter_context(freezer())
    before = next(line.split(":", 2)[2] for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines() if "freezer" in line.split(":")[1].split(","))
    group = mounted / f"muster-hangs-{scene.hosts.name}"
    group.mkdir()

    def thaw():
        (group / "freezer.state").write_text("THAWED")
        for process in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (mounted / before.lstrip("/") / "cgroup.procs").write_text(process)
        until(lambda: not (group / "tasks").read_text().split(), "the frozen process leaves its cgroup")
        group.rmdir()

    scene.undo.callback(thaw)
    (group / "cgroup.procs").write_text(str(pid))
    (group / "freezer.state").write_text("FROZEN")
    until(lambda: (group / "freezer.state").read_text().strip() == "FROZEN", "the process is frozen")


def freeze_storage(scene, folder):
    done = subprocess.run(["fsfreeze", "-f", folder], capture_output=True, text=True)
    if done.returncode:
        raise CannotBeMade(f"fsfreeze: {done.stderr.strip()}")
    scene.undo.callback(lambda: subprocess.run(["fsfreeze", "-u", folder], check=True))


def lab(scene, line):
    scene.hosts.lab(*line.split())
    if line.startswith("cut "):
        scene.undo.callback(lambda: scene.hosts.lab("mend", *line.split()[1:]))


def drop_between(scene, ends):
    lab(scene, f"link {ends[0]} --loss 100% --between {ends[1]}")


ACTIONS = {"stop_rank": stop_rank, "freeze_rank": freeze_rank, "freeze_storage": freeze_storage, "lab": lab, "drop_between": drop_between}


def make(scene, fault):
    (action, value), = ((name, value) for name, value in fault.items() if name != "after_step")
    ACTIONS[action](scene, value)


@contextlib.contextmanager
def storage(place):
    """Mounts a small ext4 file system on a loop device; does nothing if the case needs none."""
    if not place:
        yield
        return
    place = Path(place)
    if place.exists() and any(place.iterdir()):
        raise CannotBeMade(f"{place} is in use on this machine")
    had_folder = place.exists()
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="muster-storage-", dir="/opt") as folder:
        image = Path(folder) / "image"
        with image.open("wb") as file:
            file.truncate(64 << 20)
        try:
            for words in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, place]):
                done = subprocess.run([*map(str, words)], capture_output=True, text=True)
                if done.returncode:
                    raise CannotBeMade(f"{words[0]}: {done.stderr.strip()}")
            try:
                place.chmod(0o777)
                yield
            finally:
                subprocess.run(["umount", place], check=True)
        finally:
            if not had_folder:
                place.rmdir()
