"""Runs a script, and kills itself with SIGKILL when the script replaces its checkpoint for the second time. Does not do so after a
restart.

usage: die_in_second_save.py SCRIPT [ARGUMENT...]"""
import os
import runpy
import signal
import sys

replace, replaced = os.replace, []


def replace_or_die(source, target):
    replaced.append(target)
    if len(replaced) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)


if __name__ == "__main__":
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        os.replace = replace_or_die
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
