"""Waiting for what comes, with an end."""
import time


def until(what, condition, within):
    """The condition's first true value; it is asked again and again for so many seconds."""
    end = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {within} s: {what}"
        time.sleep(0.05)
