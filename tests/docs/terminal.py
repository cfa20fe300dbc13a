"""A terminal on a lab's host, used like a person would."""
import os
import pty
import re
import select
import signal
import time

PROMPT = "[dev@launcher job]$ "


def left_on_screen(text):
    """Returns the text without the progress lines that muster has erased."""
    return re.sub(r"^.*\r\x1b\[K", "", text.replace("\r\n", "\n"), flags=re.M)


class Terminal:
    """`words` start a shell. Questions for a password are answered with `password`, all others with yes."""

    def __init__(self, words, password, columns=100, within=120):
        self.password, self.columns, self.within, self.text, self.heard = password, columns, within, "", 0
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execvp(words[0], [str(word) for word in words])
        self._settle()

    def _settle(self):
        self._read_until(r"[$#] ")
        self._type(f"mkdir -p ~/job; cd ~/job; stty cols {self.columns}; bind 'set enable-bracketed-paste off'; export NO_COLOR=1; PROMPT_COMMAND= PS1='{PROMPT}'; clear")
        self._read_until(r"\n[^\n]*" + re.escape(PROMPT))
        self.text = PROMPT

    def enter(self, command):
        """Types a command that starts another shell. Later commands are typed there."""
        self._type(command)
        self._settle()

    def _read_until(self, *patterns):
        """Waits until one of the patterns matches the end of the output since the last typed line, and returns
        its index."""
        deadline = time.monotonic() + self.within
        while True:
            for number, pattern in enumerate(patterns):
                if re.search(pattern + r"\Z", self.text[self.heard:]):
                    return number
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.master], [], [], left)[0], f"none of {patterns} within {self.within} s in:\n{self.text}"
            self.text += os.read(self.master, 65536).decode()

    def _type(self, line):
        self.heard = len(self.text)
        os.write(self.master, line.encode() + b"\n")

    def run(self, command):
        """Types a command, answers its questions, and returns what appears on the terminal, the typed text included."""
        start = len(self.text)
        self._type(command)
        while asked := self._read_until(re.escape(PROMPT), r"\(yes/no\) ", r"password: "):
            self._type("yes" if asked == 1 else self.password)
        return left_on_screen(self.text[start:]).removesuffix(PROMPT)

    def start(self, command, until):
        """Starts a command that does not end by itself; returns when its output matches `until`."""
        self._type(command)
        self.wait_for(until)

    def wait_for(self, pattern):
        """Waits until the output since the last typed line matches."""
        self._read_until(pattern + r"(?s:.*)")

    def end(self, keys=b""):
        """Presses `keys` such as Ctrl-C, waits for the end of the started command, and returns its output."""
        os.write(self.master, keys)
        self._read_until(re.escape(PROMPT))
        return left_on_screen(self.text[self.heard:]).removesuffix(PROMPT)

    def close(self):
        os.kill(self.pid, signal.SIGHUP)
        os.waitpid(self.pid, 0)
        os.close(self.master)
