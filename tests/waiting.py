"""Waiting for an event, with a deadline."""
import os
import re
import subprocess
import time

# Deadlines in the tests are for a quiet machine. They are multiplied by this factor, so that only a hang exceeds them, not a busy
# machine. Campaigns set MUSTER_PATIENCE=1, because their deadlines are measurements.
PATIENCE = float(os.environ.get("MUSTER_PATIENCE", "6"))


def patient(seconds):
    """Returns the deadline for something that takes at most this long on a quiet machine."""
    return seconds * PATIENCE


def given_time(argv):
    """Returns the command line with more time for hosts to answer muster, unless it already sets a time: on a machine without
    spare CPU time, hosts are slow but not dead."""
    words = [str(word) for word in argv]
    verbs = [at + 1 for at, word in enumerate(words[:-1])
             if word.rsplit("/", 1)[-1] == "muster" and words[at + 1] in ("run", "check", "train", "bench")]
    if PATIENCE == 1 or not verbs or {"--answer-within", "--again"} & set(words):
        return words
    ours = words[:words.index("--")] if "--" in words else words
    if "-H" not in ours and words[verbs[0]] in ("train", "bench"):
        return words  # the command concerns only this machine
    place = ours.index("-H") if "-H" in ours else verbs[0] + 1
    return [*words[:place], "--answer-within", "45", *words[place:]]


def line_given_time(line):
    """Like given_time, for a line that is typed in a terminal."""
    if PATIENCE == 1 or "--answer-within" in line:
        return line
    return re.sub(r"\bmuster (run|check)\b", r"muster \1 --answer-within 45", line)


def run_mpirun(words, **options):
    """subprocess.run() for a bare mpirun. Runs it again if it does not end in time, because that of Open MPI 5 may hang after its ranks
    have ended (openpmix/prrte#1839)."""
    try:
        return subprocess.run(words, **options)
    except subprocess.TimeoutExpired:
        return subprocess.run(words, **options)


def until(what, condition, within):
    """Polls the condition until it is true, and returns its value."""
    end = time.monotonic() + patient(within)
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {patient(within):g} s: {what}"
        time.sleep(0.05)
