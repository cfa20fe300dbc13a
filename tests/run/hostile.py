"""A lab with a hostile host, n2. Its root has replaced the user's login shell, so it can answer anything to whatever muster asks."""
import json
import re
import time
from pathlib import Path

from tests.run.launchers import SYSTEM_PATH
from tests.waiting import patient

PROGRAMS = Path(__file__).with_name("programs")
HOSTILE = "n2"
AGENT = r"(/muster|\$f) agent\b"
MOST_KB = 400_000  # a generous limit for muster's memory
CANARY = "/tmp/canary"  # a folder on every host; its programs and smuggled commands create CANARY/ran when they run

# One of each kind of sequence that a terminal would obey, and a line that imitates muster's.
TITLE, CLIPBOARD, LINK = "\x1b]0;owned\x07", "\x1b]52;c;b3duZWQ=\x07", "\x1b]8;;http://198.18.1.2/\x1b\\link\x1b]8;;\x1b\\"
REPORTS, MODES = "\x1b[6n\x1b[c\x1bP$qm\x1b\\\x1bZ\x05", "\x1b[?1049h\x1b[2J\x1b[8;1;1t\x1bc\x1b(0\x0e"
ONE_BYTE, BIDI, OTHERS = "\x9b6n\x9d0;owned\x9c\x90$qm\x9c", "\u202eevil\u2066\u200f\u061c", "\x00\x08\x7f\x0b\x0c"
FORGED = "\r\nmuster: forged\n\rmuster: forged\r"
EVIL = TITLE + CLIPBOARD + LINK + REPORTS + MODES + ONE_BYTE + BIDI + OTHERS + FORGED
INVALID = "\xff\xfe\x80\x9b\xc0\xaf\xed\xa0\x80\xf8"  # invalid UTF-8, as Latin-1
SMUGGLED = f"x$(touch {CANARY}/ran)`touch {CANARY}/ran`';touch {CANARY}/ran;'\";touch {CANARY}/ran;\"|touch {CANARY}/ran\ntouch {CANARY}/ran\n"
COLOUR = r"\x1b\[[0-9;:]*m|\r\x1b\[K"  # the second alternative begins muster's own progress line
PROGRESS = r"(\r\x1b\[K[^\r\n\x1b]*)*\r\x1b\[K"  # muster's progress line, until muster erases it
PROGRESS_BAR = r"\x08|\x1b\[[0-9;]*[ABCDK]"  # sequences that programs may send, too
NEVER_SHOWN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\udc80-\udcff]")


def utf8(text):
    """Converts text for the hostile shell, which represents bytes as Latin-1."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def line(value):
    """Returns a line of the agent's protocol."""
    return json.dumps(value, separators=(",", ":")) + "\n"


def in_facts(*changes):
    """Returns a rule that changes the hostile agent's facts. Each change is (PATH, new VALUE)."""
    return {"command": AGENT, "line": r'^\{"report":"facts"', "set": [[["facts", *path], value] for path, value in changes]}


class Shown:
    """What a command showed on its terminal."""

    def __init__(self, told):
        self.bytes, self.late, self.code, self.most_kb = told["seen"].encode("latin-1"), told["late"], told["code"], told["most_kb"]
        self.raw = self.bytes.decode("utf-8", "surrogateescape")
        self.text = re.sub(r"\x1b\[[0-9;]*m", "", re.sub(PROGRESS, "\r", self.raw))  # without muster's colours and progress line

    def problems(self, of_programs=False):
        """Returns a list of reasons why a user must not see this. With `of_programs`, it contains the output of programs, which may
        draw progress bars and imitate muster's lines."""
        raw = NEVER_SHOWN.findall(re.sub(f"{COLOUR}|{PROGRESS_BAR}" if of_programs else COLOUR, "", self.raw))
        found = [f"{''.join(sorted(set(raw)))!r} reach the terminal, first in {self.around(raw[0])!r}"] if raw else []
        if not of_programs and re.search(r"(^|[\r\n])muster: forged", self.text):
            found.append(f"a forged line: {self.around('muster: forged')!r}")
        if self.late:
            found.append(f"still running at the deadline: {self.text[-500:]!r}")
        if self.most_kb > MOST_KB:
            found.append(f"{self.most_kb} kB of memory")
        return found

    def around(self, what):
        at = self.raw.index(what)
        return self.raw[max(0, at - 60):at + 20]


class HostileCluster:
    """Three hosts, of which n2 is hostile, with canaries on all of them."""

    def __init__(self, cluster):
        self.cluster, self.lab = cluster, cluster.lab
        self.good = [host for host in self.lab.hosts if host != HOSTILE]
        self.lab.write(HOSTILE, "/usr/local/bin/hostile", (PROGRAMS / "hostile_shell.py").read_text(), mode="755", root=True)
        self.attack()
        self.lab.exec(HOSTILE, "usermod", "-s", "/usr/local/bin/hostile", self.lab.user, root=True)
        self.lab.exec("launcher", "ssh", "-O", "exit", HOSTILE)  # an open connection would still use the old shell
        names = "mpirun mpiexec prterun orted prted hydra_pmi_proxy torchrun python python3 ssh rsync muster sh bash libmpi.so"
        script = f"umask 0; mkdir -p {CANARY}/bin && for name in {names}; do printf '#!/bin/sh\\ntouch {CANARY}/ran\\n' > {CANARY}/bin/$name; done; chmod 755 {CANARY}/bin/*"
        for host in ["launcher", *self.lab.hosts]:
            self.lab.shell(host, script)

    def attack(self, *rules):
        """Makes the hostile host follow these rules, and no others, from now on."""
        self.lab.write(HOSTILE, "/etc/hostile.json", json.dumps(rules), root=True)

    def on_terminal(self, *words, within=30, path=SYSTEM_PATH):
        """Runs muster WORDS on a terminal of the launcher."""
        program = (PROGRAMS / "on_terminal.py").read_text()
        done = self.lab.exec("launcher", "env", f"PATH={path}", "/usr/bin/python3", "-c", program, patient(within), "muster", *words, timeout=within + 10)
        assert done.returncode == 0, done.stderr
        return Shown(json.loads(done.stdout))

    def executed(self):
        """Returns the hosts on which a canary ran, except the hostile one, and removes the canaries' files there."""
        return [host for host in ["launcher", *self.good] if self.lab.exec(host, "rm", f"{CANARY}/ran").returncode == 0]


def started(rank):
    process = {"pid": 97, "start": 1}
    return line({"report": "event", "event": {"event": "start", "rank": rank, "local_rank": 0, "size": 3, "program": process, "shim": process,
                                              "daemon": process, "time_s": time.time(), "remarks": []}})


def ended(rank, status, failure=""):
    return line({"report": "event", "event": {"event": "end", "rank": rank, "status": status, "failure": failure, "time_s": time.time(), "user_s": 0.1,
                                              "system_s": 0.0, "max_rss_kb": 100, "out_bytes": 0, "err_bytes": 0, "left_over": 0, "by_engine": False,
                                              "memory_ran_out": False, "waited_s": 0.0}})


def printed(rank, text, at=0, stream="out", size=None):
    """Returns a report of a rank's output. `text` represents bytes as Latin-1."""
    return f"\x1e{len(text) if size is None else size} " + line({"report": "output", "rank": rank, "stream": stream, "at": at}) + text


def when(pattern, **what):
    """Returns a rule that applies to those lines of the real agent that match the pattern."""
    return {"command": AGENT, "line": pattern, **what}
