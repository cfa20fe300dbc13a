"""Commands with output on a terminal, and what a hostile program might print there."""
import re

# In the form for printf(1): sets the clipboard, asks for the cursor's position and sets the title, then prints red text and a
# control sequence in UTF-8.
HOSTILE = r"\033]52;c;aGk=\007\033[6n\033]0;title\033\\\033[31mred\033[0m ok\302\2336n\n"
HOSTILE_BYTES = b"\x1b]52;c;aGk=\x07\x1b[6n\x1b]0;title\x1b\\\x1b[31mred\x1b[0m ok\xc2\x9b6n\n"
SHOWN = "\x1b[31mred\x1b[0m ok?6n"


def on_terminal(*words):
    """Returns a command that runs `words` on a new terminal and copies its output to standard output."""
    return ["python3", "-c", "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))", *words]


def is_harmless(line):
    """Whether the only control characters in a line are colours and those of muster's progress line."""
    return re.sub(r"\r?\x1b\[K|\x1b\[[\d;]*m", "", line.rstrip("\r\n")).isprintable()
