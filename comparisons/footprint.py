"""What the processes on a lab's launcher, or on one of its hosts, use: CPU time, memory, descriptors. Read from outside the lab, as root."""
import os
import resource
import threading
import time
from dataclasses import dataclass
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Peak:
    processes: int = 0
    descriptors: int = 0  # open in all processes together
    most_descriptors: int = 0  # open in one process
    megabytes: float = 0  # memory that no other process shares, and page tables

    def raise_to(self, other):
        for name, value in vars(other).items():
            setattr(self, name, max(getattr(self, name), value))


class Footprint:
    def __init__(self, lab, host="launcher"):
        shown = lab.exec(host, "readlink", "/proc/self/ns/pid")
        assert shown.returncode == 0, shown.stderr
        self.namespace = shown.stdout.strip()

    def processes(self):
        """The folders in /proc of all processes on the host, except those of the lab itself."""
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdigit() and os.readlink(folder / "ns/pid") == self.namespace:
                    if (folder / "comm").read_text().strip() not in ("tini", "sshd"):
                        yield folder
            except OSError:
                continue  # it has ended

    def cpu_s(self):
        """CPU time that the host has used so far: of processes that live, of those that ended there, and of our own children."""
        ticks = 0
        for folder in Path("/proc").iterdir():
            try:
                if not folder.name.isdigit() or os.readlink(folder / "ns/pid") != self.namespace:
                    continue
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))  # user and system time, of itself and of the children that it waited for
            except OSError:
                continue
        return ticks / TICK + self.of_our_children()

    def settled_cpu_s(self):
        """cpu_s() after commands have ended: for a moment, a process that has ended is counted neither by itself nor by its parent."""
        known = self.cpu_s()
        for _ in range(20):
            time.sleep(0.2)
            if (now := self.cpu_s()) == known:
                break
            known = now
        return known

    def running_s(self):
        """CPU time of the processes that live now, to the nanosecond, while cpu_s() cuts each process's to 10 ms."""
        nanoseconds = 0
        for folder in self.processes():
            for task in folder.glob("task/*/schedstat"):
                try:
                    nanoseconds += int(task.read_text().split()[0])
                except OSError:
                    continue
        return nanoseconds / 1e9

    @staticmethod
    def of_our_children():
        ours = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ours.ru_utime + ours.ru_stime

    def now(self):
        use = Peak()
        for folder in self.processes():
            try:
                descriptors = len(os.listdir(folder / "fd"))
                kilobytes = private_kb((folder / "smaps_rollup").read_text()) + page_tables_kb((folder / "status").read_text())
            except OSError:
                continue
            use.processes += 1
            use.descriptors += descriptors
            use.most_descriptors = max(use.most_descriptors, descriptors)
            use.megabytes += kilobytes / 1024
        return use

    def memory(self):
        """Of each process, (its command line, that of its parent, MB that it shares with no other process, MB if shared pages are split among
        those who share them)."""
        found = []
        for folder in self.processes():
            try:
                parent = Path("/proc") / (folder / "stat").read_text().rpartition(")")[2].split()[1]
                rollup, status = (folder / "smaps_rollup").read_text(), (folder / "status").read_text()
                tables = page_tables_kb(status)
                found.append((words_of(folder), words_of(parent), (private_kb(rollup) + tables) / 1024, (pss_kb(rollup) + tables) / 1024))
            except OSError:
                continue
        return found

    def peak_during(self, call, every_s=0.2):
        """Calls the function and returns the most that was used meanwhile, from looks some tenths of a second apart. Looking takes CPU time, so time
        nothing meanwhile."""
        peak, over = Peak(), threading.Event()

        def look():
            while not over.wait(every_s):
                peak.raise_to(self.now())

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            call()
        finally:
            over.set()
            watcher.join()
        return peak


def words_of(folder):
    return (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()


def pss_kb(rollup):
    return sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))


def private_kb(rollup):
    return sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith(("Private_Clean:", "Private_Dirty:")))


def page_tables_kb(status):
    return sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmPTE:"))
