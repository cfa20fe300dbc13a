"""Commands whose output goes to a terminal, and what a hostile program would print there."""
import re

# Sets the clipboard, asks for the cursor's position, sets the title; then text in red, and a control sequence as UTF-8. For printf(1).
HOSTILE = r"\033]52;c;aGk=\007\033[6n\033]0;title\033\\\033[31mred\033[0m ok\302\2336n\n"
HOSTILE_BYTES = b"\x1b]52;c;aGk=\x07\x1b[6n\x1b]0;title\x1b\\\x1b[31mred\x1b[0m ok\xc2\x9b6n\n"
SHOWN = "\x1b[31mred\x1b[0m ok?6n"


def on_terminal(*words):
    """The command on a terminal of its own, whose output is copied to standard output."""
    return ["python3", "-c", "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))", *words]


def is_harmless(line):
    """Whether a line has no control characters other than colours and those of muster's line of progress."""
    return re.sub(r"\r?\x1b\[K|\x1b\[[\d;]*m", "", line.rstrip("\r\n")).isprintable()
