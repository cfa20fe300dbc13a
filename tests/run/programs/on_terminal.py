"""Runs a command on a new terminal, for at most SECONDS: on_terminal.py SECONDS COMMAND...

Prints JSON: the terminal's output (bytes as Latin-1), whether the command had to be killed at the deadline, its exit code, and the peak
memory of the command and of the processes that it waited for.
"""
import json
import os
import pty
import select
import signal
import sys
import time

KEPT = 64 << 20


def read(master, until):
    seen = bytearray()
    while (left := until - time.monotonic()) > 0:
        if not select.select([master], [], [], left)[0]:
            break
        try:
            data = os.read(master, 65536)
        except OSError:  # the command has ended
            return seen, False
        seen += data[:KEPT - len(seen)]
    return seen, True


def main():
    until = time.monotonic() + float(sys.argv[1])
    pid, master = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[2], sys.argv[2:])
    seen, late = read(master, until)
    if late:
        os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    print(json.dumps({"seen": seen.decode("latin-1"), "late": late, "code": os.waitstatus_to_exitcode(status), "most_kb": usage.ru_maxrss}))


main()
