"""Runs a script, and fails if a thread is left when the script has ended. Python aborts if such a thread then releases a tensor.

usage: no_thread_left.py SCRIPT [ARGUMENT...]"""
import os
import runpy
import sys

if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        sys.exit(f"{threads - 1} threads are left")
