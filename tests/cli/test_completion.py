"""Completion in real shells on a terminal, and the man pages, both as installed by `cmake --install`."""
import os
import pty
import re
import select
import subprocess
import time

import pytest
from tests.waiting import patient

SCRIPTS = {"bash": "bash-completion/completions/muster", "zsh": "zsh/site-functions/_muster", "fish": "fish/vendor_completions.d/muster.fish"}
# The words that start a shell without the user's settings, and the line with which it reads the script. zsh finds the script by its name, as a
# function.
BEGIN = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; source {script}"),
    "zsh": (["zsh", "-f", "-i"], "unsetopt zle_bracketed_paste; fpath=({folder} $fpath); autoload -U compinit; compinit -u -D"),
    "fish": (["fish", "--no-config", "-i"], "source {script}"),
}

PROMPT = r"[\s\S]*[$#>] "  # text typed before the prompt does not reach the shell key by key


@pytest.fixture(scope="module")
def installed(root, muster, tmp_path_factory):
    """Returns a folder with the files that `cmake --install` installs besides the binary."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(["cmake", f"-DCMAKE_INSTALL_PREFIX={folder}", f"-Dmuster={muster}", "-Dmandir=man", "-Ddatadir=share", "-P", root / "cmake/Manual.cmake"],
                   check=True, capture_output=True, timeout=patient(30), env={**os.environ, "DESTDIR": ""})
    return folder


@pytest.fixture(scope="module")
def project(muster, tmp_path_factory):
    """A folder with a muster.yaml, a host file and a program, and a home with two runs, one of which has a name."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "muster.yaml").write_text("hosts: alpha[1-2],beta\nprofiles:\n  large:\n    hosts: delta,epsilon\n  small:\n    hosts: beta\n")
    (folder / "others.txt").write_text("gamma slots=2\n")
    (folder / "train_it.py").write_text("")
    (folder / "results").mkdir()
    (folder / "state/muster/runs/20261116-120000-1a2b3").mkdir(parents=True)
    named = subprocess.run([muster, "run", "-q", "--name", "lr3", "-n", "1", "true"], capture_output=True, text=True, timeout=patient(60), cwd="/",
                           env={**os.environ, "XDG_STATE_HOME": str(folder / "state")})
    assert named.returncode == 0, named.stderr
    (folder / "bin").mkdir()
    script = folder / "bin/muster"  # prints its arguments, unless the shell asks for completions
    script.write_text(f'#!/bin/sh\n[ "$1" = complete ] && exec {muster} complete\necho "ran: $*"\n')
    script.chmod(0o755)
    return folder


class Shell:
    """A shell on a terminal."""

    def __init__(self, name, installed, project):
        words, begin = BEGIN[name]
        script = installed / "share" / SCRIPTS[name]
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            env = {"PATH": f"{project}/bin:{os.environ['PATH']}", "HOME": str(project), "XDG_STATE_HOME": str(project / "state"), "TERM": "dumb", "PS1": "$ "}
            os.chdir(project)
            os.execvpe(words[0], words, env)
        self.type(begin.format(script=script, folder=script.parent) + "; echo re''ady\r")
        self.see(r"ready\r?\n" + PROMPT)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def see(self, pattern, within=20):
        """Reads until the terminal has shown the pattern."""
        seen, end = "", time.monotonic() + patient(within)
        while not re.search(pattern, seen):
            assert time.monotonic() < end and select.select([self.terminal], [], [], patient(within))[0], f"no '{pattern}' in {seen!r}"
            seen += os.read(self.terminal, 65536).decode(errors="replace")
        return seen

    def completes(self, line, whole):
        """Types the beginning of a line and a tab, and checks that the shell then runs the whole line."""
        self.type(line + "\t\r")
        self.see(re.escape("ran: " + whole.removeprefix("muster ")) + r"/? ?\r?\n" + PROMPT)

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@pytest.fixture(scope="module", params=["bash", "zsh", "fish"])
def shell(request, installed, project):
    shell = Shell(request.param, installed, project)
    yield shell
    shell.close()


LINES = {
    "a command": ("muster atta", "muster attach"),
    "a flag": ("muster run --max-r", "muster run --max-restarts"),
    "a value": ("muster run --engine mpi", "muster run --engine mpich"),
    "a value after =": ("muster run --engine=mpi", "muster run --engine=mpich"),
    "a host of muster.yaml": ("muster run -H be", "muster run -H beta"),
    "the next host": ("muster run -H alpha1:2,be", "muster run -H alpha1:2,beta"),
    "a host of a host file": ("muster exec -f others.txt --include ga", "muster exec -f others.txt --include gamma"),
    "a host of a profile": ("muster exec -P large -H ep", "muster exec -P large -H epsilon"),
    "a host for a shell": ("muster exec -i -H be", "muster exec -i -H beta"),
    "a profile": ("muster run -P la", "muster run -P large"),
    "a run": ("muster logs 20261116-1200", "muster logs 20261116-120000-1a2b3"),
    "a run by its name": ("muster logs lr", "muster logs lr3"),
    "a run to attach to": ("muster attach lr", "muster attach lr3"),
    "a run to show": ("muster show lr", "muster show lr3"),
    "a run to stop": ("muster stop lr", "muster stop lr3"),
    "a second run to remove": ("muster rm last lr", "muster rm last lr3"),
    "a run to start again": ("muster run --again lr", "muster run --again lr3"),
    "a directory": ("muster sync --back res", "muster sync --back results"),
    "a command with a man page": ("muster man lab res", "muster man lab restart"),
    "a program": ("muster run -n 2 train_", "muster run -n 2 train_it.py"),
    "a file": ("muster run --hostfile oth", "muster run --hostfile others.txt"),
    "a file after =": ("muster run --hostfile=oth", "muster run --hostfile=others.txt"),
}


@pytest.mark.parametrize("line, whole", LINES.values(), ids=LINES)
def test_a_tab_completes(shell, line, whole):
    shell.completes(line, whole)


def test_words_do_not_appear_in_argv(muster):
    """The typed words may contain a secret, so the scripts pass them through a pipe."""
    for name in SCRIPTS:
        script = subprocess.run([muster, "completion", name], capture_output=True, text=True, timeout=patient(10)).stdout
        assert re.search(r"printf '%s\\0' .*\| .* complete 2>/dev/null", script), script


def test_every_command_has_a_man_page_without_a_warning(installed, muster):
    pages = {page.name: page for page in (installed / "man/man1").iterdir()}
    assert {"muster.1", "muster-run.1", "muster-lab-up.1", "muster-completion.1"} <= set(pages)
    for page in pages.values():
        shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True, timeout=patient(30))
        assert (shown.returncode, shown.stderr) == (0, ""), page.name
        assert page.read_text().startswith(".TH MUSTER")
    printed = subprocess.run([muster, "man", "lab", "up"], capture_output=True, text=True, timeout=patient(10)).stdout
    assert printed == pages["muster-lab-up.1"].read_text()
    refused = subprocess.run([muster, "man", "lab", "nosuch"], capture_output=True, text=True, timeout=patient(10))
    assert refused.returncode == 2 and "there is no command 'muster lab nosuch'" in refused.stderr


def test_the_man_page_has_every_flag_of_the_help(muster):
    """The page is generated from the parser, so it contains every flag."""
    page = subprocess.run([muster, "man", "run"], capture_output=True, text=True, timeout=patient(10)).stdout.replace("\\-", "-")
    text = subprocess.run([muster, "run", "--help"], capture_output=True, text=True, timeout=patient(10)).stdout
    flags = set(re.findall(r"^ {2,6}(?:-\S, )?(--[\w-]+)", text, flags=re.M))
    assert len(flags) > 30 and not [flag for flag in flags if flag not in page]
