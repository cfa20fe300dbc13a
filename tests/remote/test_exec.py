"""muster exec from the launcher to three hosts, used as by a person."""
import base64
import json
import shlex
import signal
import subprocess

import pytest
from tests.on_terminal import HOSTILE, HOSTILE_BYTES, SHOWN, is_harmless, on_terminal
from tests.schemas import described
from tests.waiting import patient, until

pytestmark = pytest.mark.lab

ALL = "n1,n2,n3"


def muster_exec(lab, *words, timeout=60):
    return lab.exec("launcher", "muster", "exec", *words, timeout=timeout)


def test_equal_output_is_said_once_and_the_odd_host_stands_out(open_lab):
    open_lab.exec("n2", "sh", "-c", "echo other > ~/version")
    for host in ("n1", "n3"):
        open_lab.exec(host, "sh", "-c", "echo same > ~/version")
    done = muster_exec(open_lab, "-H", ALL, "--", "cat version; echo oops >&2")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "--- n[1,3] (2 hosts) ---\nsame\n--- n2 ---\nother\n"
    assert done.stderr == "--- n[1-3] (3 hosts) ---\noops\n"


def test_output_cannot_control_the_terminal_and_is_complete_in_a_file(open_lab):
    command = ["muster", "exec", "-H", "n1", f"printf '{HOSTILE}'"]
    for words in (command, [*command[:2], "--label", *command[2:]]):
        shown = open_lab.exec("launcher", *on_terminal(*words))
        assert shown.returncode == 0, shown.stdout
        assert SHOWN in shown.stdout and all(map(is_harmless, shown.stdout.splitlines())), repr(shown.stdout)
    in_file = open_lab.shell("launcher", f"{shlex.join(command)} | tail -n 1 | base64 -w0")
    assert base64.b64decode(in_file) == HOSTILE_BYTES


def test_output_beyond_the_limit_is_dropped_and_reported(open_lab):
    line = "head -c 40000000 /dev/zero | tr '\\0' x"
    counted = open_lab.exec("launcher", "sh", "-c", f"(muster exec -H n1 \"{line}\"; echo \"code $?\" >&2) | wc -c")
    assert int(counted.stdout) == 32 * 2**20 + len("--- n1 ---\n") + 1
    assert "n1: its output is incomplete" in counted.stderr and "dropped 6.4 MB" in counted.stderr and "code 125" in counted.stderr
    live = open_lab.shell("launcher", f"muster exec -H n1 --label \"{line}\" | tr -d -c x | wc -c")
    assert int(live) == 40_000_000


def test_one_word_is_the_shells_and_several_are_quoted(open_lab):
    shell = muster_exec(open_lab, "-H", "n1", "--", "echo a b | wc -w; echo $HOME")
    assert shell.stdout == f"--- n1 ---\n2\n/home/{open_lab.user}\n"
    quoted = muster_exec(open_lab, "-H", "n1", "--", "printf", "%s\\n", "a  b", "$HOME;", "it's")
    assert quoted.stdout == "--- n1 ---\na  b\n$HOME;\nit's\n"


def test_the_command_begins_after_the_flags(open_lab):
    done = muster_exec(open_lab, "-H", "n1", "echo", "-H", "--", "n2")
    assert (done.returncode, done.stdout) == (0, "--- n1 ---\n-H -- n2\n"), done.stderr
    missing = muster_exec(open_lab, "-H", "n1")
    assert missing.returncode == 2 and "for example: muster exec -H" in missing.stderr


def test_the_exit_code_is_the_highest_and_says_signals(open_lab):
    done = muster_exec(open_lab, "-H", ALL, "--", "case $(hostname) in n1) exit 3;; n2) exit 7;; esac")
    assert done.returncode == 7
    assert "2 of 3 hosts failed" in done.stderr
    assert "n1: exit code 3" in done.stderr and "n2: exit code 7" in done.stderr and "n3" not in done.stderr
    killed = muster_exec(open_lab, "-H", ALL, "--", "sh", "-c", "kill -SEGV $$")
    assert killed.returncode == 128 + signal.SIGSEGV
    assert "n[1-3] (3 hosts): exit code 139: signal 11" in killed.stderr


def test_a_host_that_is_not_there_is_named_and_the_others_still_run(open_lab):
    done = muster_exec(open_lab, "-H", "n1,nowhere,n2", "--", "exit 9")
    assert done.returncode == 4
    assert "nowhere: its name does not resolve on this machine" in done.stderr and "hint: correct the name, or add it to DNS, /etc/hosts" in done.stderr
    assert "n[1-2] (2 hosts): exit code 9" in done.stderr


def test_exit_code_255_is_the_commands_own_while_the_connection_stands(open_lab):
    done = muster_exec(open_lab, "-H", "n1", "--", "exit 255")
    assert done.returncode == 255, done.stderr


def sleepers(lab, host):
    return lab.exec(host, "pgrep", "-f", "^sleep 60[01]$").stdout.split()


def test_a_deadline_ends_the_command_and_what_it_started(open_lab):
    assert muster_exec(open_lab, "-H", ALL, "--", "true").returncode == 0  # connections are open now
    done = muster_exec(open_lab, "-H", ALL, "--timeout", str(int(patient(2))), "--", "echo up; test $(hostname) != n2 || { setsid sleep 601 & sleep 600; }")
    assert done.returncode == 124
    assert "n2: the time limit passed; muster ended the command and what it had started" in done.stderr and "1 of 3 hosts failed" in done.stderr
    assert done.stdout == "--- n[1-3] (3 hosts) ---\nup\n"  # including what n2 had printed by then
    assert sleepers(open_lab, "n2") == []


@pytest.mark.parametrize("label", [[], ["--label"]], ids=["grouped", "label"])
def test_a_command_that_ends_with_the_code_of_a_time_limit_was_not_late(open_lab, label):
    done = muster_exec(open_lab, "-H", "n1", *label, "--timeout", "600", "--", "echo why >&2; exit 221")
    assert done.returncode == 221 and "n1: exit code 221\n" in done.stderr, done.stderr
    assert "why\n" in done.stderr and "muster-exec" not in done.stderr, done.stderr


def test_the_host_keeps_the_deadline_without_muster(open_lab):
    running = subprocess.Popen(open_lab.words("launcher", "sh", "-c", "echo $$ > pid; exec muster exec -H n1 --timeout 4 'sleep 600'"))
    until("the command runs", lambda: sleepers(open_lab, "n1"), 10)
    open_lab.shell("launcher", "kill -KILL $(cat pid); ssh -O exit -o ControlPath=~/.ssh/muster/cm/%C n1")
    running.wait(timeout=patient(10))
    until("n1 has ended it", lambda: not sleepers(open_lab, "n1"), 15)


def test_a_shell_on_one_host(open_lab):
    sized = "stty rows 33 cols 99 && exec muster exec -i -H n1"
    shell = open_lab.exec("launcher", *on_terminal("sh", "-c", sized), input="tty; stty size; hostname; exit 7\n")
    assert shell.returncode == 7 and "\n33 99" in shell.stdout.replace("\r", ""), shell.stdout
    assert "/dev/pts/" in shell.stdout and "\nn1" in shell.stdout.replace("\r", "") and "Shared connection" not in shell.stdout
    typed = open_lab.exec("launcher", "muster", "exec", "-i", "-H", "n2", "cat; hostname", input="typed\n")
    assert (typed.returncode, typed.stdout) == (0, "typed\nn2\n"), typed.stderr
    several = open_lab.exec("launcher", "muster", "exec", "-i", "-H", ALL)
    assert several.returncode == 2 and "-i opens a shell on one host, but you named 3 hosts" in several.stderr
    lost = open_lab.exec("launcher", "muster", "exec", "-i", "-H", "nowhere")
    assert lost.returncode == 4 and "nowhere: its name does not resolve on this machine" in lost.stderr


def test_label_shows_lines_while_the_command_runs(open_lab):
    # On each host, the command prints a line and then waits for a file. The script creates that file
    # over a second session once it reads the line in muster's output. The test would hang if muster
    # held output back until the command ends.
    script = """
        muster exec -H n1,n2 --label --timeout 300 -- \
          'echo first; while ! test -e go; do sleep 0.1; done; echo err >&2; printf last' 2>err |
        while IFS= read -r line; do
          echo "$line"
          case $line in *first) muster exec -H "${line%%:*}" -- touch go;; esac
        done"""
    done = open_lab.exec("launcher", "sh", "-c", script)
    lines = sorted(done.stdout.splitlines())
    assert lines == ["n1: first", "n1: last", "n2: first", "n2: last"], done.stderr
    errors = open_lab.exec("launcher", "cat", "err").stdout
    assert sorted(errors.splitlines()) == ["n1: err", "n2: err"]


def test_json_is_one_object_a_host(open_lab):
    done = muster_exec(open_lab, "-H", "n1,nowhere", "--json", "--", "echo out; echo err >&2; exit 5")
    reached, lost = [described("exec", json.loads(line)) for line in done.stdout.splitlines()]
    assert reached == {"host": "n1", "code": 5, "out": "out\n", "err": "err\n"}
    assert lost["host"] == "nowhere" and "resolve" in lost["error"] and "code" not in lost
    assert done.returncode == 4


def test_later_sessions_need_no_second_login(open_lab):
    assert muster_exec(open_lab, "-H", ALL, "--", "true").returncode == 0
    for host in open_lab.hosts:  # a new login would fail now
        open_lab.exec(host, "sh", "-c", "mv ~/.ssh/authorized_keys ~/.ssh/away")
    assert muster_exec(open_lab, "-H", ALL, "--", "true").returncode == 0


def test_a_changed_host_key_is_told_with_both_fingerprints(open_lab):
    def fingerprint():
        return open_lab.shell("n2", "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub").split()[1]

    pinned = fingerprint()
    open_lab.command("break", "n2", "host-key")
    done = open_lab.exec("launcher", "muster", "exec", "-H", "n1,n2", "--", "hostname")
    assert done.returncode == 4 and done.stdout == "--- n1 ---\nn1\n"
    assert f"pinned {pinned}, presented {fingerprint()}" in done.stderr
