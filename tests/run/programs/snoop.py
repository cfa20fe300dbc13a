"""Finds out what this process can learn about, or do to, the processes of another user on this host. Prints one line for
each thing that works.

usage: snoop.py UID, with the secrets to search for on standard input."""
import os
import socket
import stat
import sys
from pathlib import Path

other, secrets = int(sys.argv[1]), [line.encode() for line in sys.stdin.read().split()]


def tells(path):
    try:
        content = Path(path).read_bytes()
    except OSError:
        return False
    return any(secret in content for secret in secrets)


def lets_in(address):
    """Returns whether this process can connect to a Unix socket of the other user."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        try:
            with socket.socket(socket.AF_UNIX, kind) as connection:
                connection.settimeout(5)
                connection.connect(address)
                owner = int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[4:8], sys.byteorder)
                return owner == other
        except OSError:
            pass
    return False


for top in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/home"):
    for folder, _, names in os.walk(top):
        for path in (os.path.join(folder, name) for name in names):
            try:
                mode = os.lstat(path).st_mode
            except OSError:  # just removed
                continue
            if stat.S_ISREG(mode) and tells(path):
                print("read", path)
            if stat.S_ISSOCK(mode) and lets_in(path):
                print("connected to", path)
for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
    name = line.split(None, 7)[7:]
    if name and name[0].startswith("@") and lets_in("\0" + name[0][1:]):
        print("connected to", name[0])
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if f"\nUid:\t{other}\t" not in Path(f"/proc/{pid}/status").read_text() or int(pid) == os.getpid():
            continue
        for file in ("cmdline", "environ"):
            if tells(f"/proc/{pid}/{file}"):
                print("read", file)
        os.kill(int(pid), 0)
        print("could kill", pid)
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        pass
