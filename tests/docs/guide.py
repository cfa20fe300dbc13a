"""Types a guide into a terminal, block by block. In a block, each command follows `$ `, then its output; `...` stands for omitted lines."""
import os
import re

from tests.docs.pages import ROOT
from tests.docs.terminal import Terminal, left_on_screen
from tests.waiting import line_given_time, patient

VARYING = [r":\d{5}\b", r"\d{8}-\d{6}-[0-9a-f]+", r"left (?:\d+ (?:s|min)|\d+\.\d h)\b", r"\b(?:process|kill) \d+", r"\b\d+ images/s", r"(?<!\w)\d+(?:\.\d+)+"]
WIDE = 400  # columns, so that no line wraps


def steps(lines):
    """Splits a block into (command, lines that the page shows)."""
    assert lines[0].startswith("$ "), lines[0]
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def pattern(line):
    """Returns a pattern for a shown line. Words and whole numbers, such as ranks and steps, must be equal. Decimal numbers need the same
    number of decimals; run ids, processes, rates and times may differ."""
    text, at = "", 0
    for match in re.finditer("|".join(f"({one})" for one in VARYING), line):
        decimals = re.fullmatch(r"\d+\.(\d+)", match[0])  # a plain decimal number, not an address or a version
        text += re.escape(line[at:match.start()]) + (rf"\d+\.\d{{{len(decimals[1])}}}" if decimals else VARYING[match.lastindex - 1])
        at = match.end()
    return text + re.escape(line[at:])


def lacking(shown, printed):
    """Returns lines of the page that were not printed and, unless the page omits lines, printed lines that the page does not show."""
    rest = [line for line in printed if line.strip()]
    missing = []
    for line in (line for line in shown if line.strip() and line != "..."):
        found = next((one for one in rest if re.fullmatch(pattern(line), one.rstrip())), None)
        if found is None:
            missing.append(line)
        else:
            rest.remove(found)
    return missing + ([] if "..." in shown else rest)


class Reader:
    """Types the commands of a guide on a lab's launcher. `changes` are pairs of a text of the page and its replacement."""

    def __init__(self, lab, page, changes=(), within=60):
        self.page, self.changes = page, dict(changes)
        self.terminal = Terminal(lab.words("launcher", "bash", "--norc", "-i"), lab.password, columns=WIDE, within=patient(within))

    def __call__(self, lines, *more, code=0):
        """Types a block, with more words after its last command, and compares the output. Returns the output of the last command."""
        typed = steps(lines)
        for number, (command, shown) in enumerate(typed):
            words = " ".join([command, *more]) if number == len(typed) - 1 else command
            for text, here in self.changes.items():
                words = words.replace(text, here)
            if os.environ.get("MUSTER_WRITE_GUIDES") != "1":
                words = line_given_time(words)
            printed = self.terminal.run(words).splitlines()[1:]  # without the echo of the typed line
            missing = lacking(shown, printed)
            assert not missing, f"{words}\nnot as {self.page} shows it:\n" + "\n".join(missing) + "\n--- printed:\n" + "\n".join(printed)
            ended = self.terminal.run("echo $?").splitlines()[-1]
            assert ended == str(code), f"{words}: exit code {ended}\n" + "\n".join(printed)
        return printed

    def close(self):
        """Closes the terminal. With MUSTER_WRITE_GUIDES=1, stores the session in docs/results."""
        if os.environ.get("MUSTER_WRITE_GUIDES") == "1":
            name = "guide_" + self.page.rsplit("/", 1)[1].replace(".md", ".txt").replace("-", "_")
            (ROOT / "docs/results" / name).write_text(left_on_screen(self.terminal.text))
        self.terminal.close()
