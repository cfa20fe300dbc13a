"""Waiting for an event, with a deadline."""
import os
import time

# Deadlines in the tests are what a quiet machine needs. A test that waits this many times longer has met a hang, not a busy
# machine. Campaigns set MUSTER_PATIENCE=1, so that their deadlines are figures.
PATIENCE = float(os.environ.get("MUSTER_PATIENCE", "6"))


def patient(seconds):
    """The deadline for what takes at most this long on a quiet machine."""
    return seconds * PATIENCE


def until(what, condition, within):
    """Polls the condition until it is true, and returns its value."""
    end = time.monotonic() + patient(within)
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {patient(within):g} s: {what}"
        time.sleep(0.05)
