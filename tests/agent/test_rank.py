"""The rank shim, started by hand with Open MPI's variables. test_engines.py has real mpiruns."""
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from tests.waiting import patient

pytestmark = pytest.mark.smoke
TIMEOUT = patient(60)  # seconds


def seen(place, *flags, **options):
    """Returns the environment that the program gets."""
    code, out, err = place.run(["env", "-0"], *flags, **options)
    assert code == 0, err
    return dict(entry.split("=", 1) for entry in out.decode().split("\0") if entry)


def wait_until(condition, what):
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


# How it ends

@pytest.mark.parametrize("code", [0, 3, 125, 255])
def test_ends_with_the_programs_code(place, code):
    assert place.run(["sh", "-c", f"exit {code}"])[0] == code
    start, end = place.events()
    assert (start["event"], start["rank"], start["local_rank"], start["size"]) == ("start", 1, 1, 4)
    assert (end["event"], end["status"], end["failure"], end["left_over"]) == ("end", code << 8, "", 0)
    assert start["daemon"]["pid"] == os.getpid()
    assert abs(end["time_s"] - time.time()) < TIMEOUT and end["time_s"] >= start["time_s"]


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM, signal.SIGPIPE, signal.SIGABRT])
def test_ends_by_the_programs_signal(place, tmp_path, number):
    place_of_core = tmp_path / "cwd"
    place_of_core.mkdir()
    code, _, err = place.run(["sh", "-c", f"ulimit -c 0; kill -{int(number)} $$"], cwd=place_of_core)
    assert code == -number, err
    assert place.events()[1]["status"] & 0x7f == number
    assert list(place_of_core.iterdir()) == []


def test_program_that_is_not_there(place):
    assert place.run(["no-such-program"]) == (127, b"", b"")
    assert place.events()[1]["failure"] == "cannot run 'no-such-program': No such file or directory"
    assert place.events()[1]["status"] == 127 << 8


def test_program_that_cannot_be_run(place, tmp_path):
    data = tmp_path / "data"
    data.write_text("x")
    assert place.run([data])[0] == 126
    assert place.events()[1]["failure"] == f"cannot run '{data}': Permission denied"
    assert place.events()[1]["status"] == 126 << 8


def test_missing_interpreter_is_told_from_a_missing_program(place, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert place.run([script])[0] == 127
    assert "the file exists" in place.events()[1]["failure"]


@pytest.mark.parametrize("words", [[], ["true"], ["--run"], ["--"], ["--nonsense", "--", "true"]])
def test_usage(muster, words):
    ended = subprocess.run([muster, "rank", *words], capture_output=True, text=True, timeout=TIMEOUT)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "muster rank [--run ID]" in ended.stderr


def test_records_what_was_used(place):
    code = "x = bytearray(50_000_000)\nimport time\nwhile time.process_time() < 0.2: pass"
    assert place.run(place.python(code))[0] == 0
    end = place.events()[1]
    assert 0.15 < end["user_s"] + end["system_s"] < 30
    assert end["max_rss_kb"] > 50_000


# How it learns its rank

def test_tells_the_rank_whichever_engine(place):
    variables = seen(place, "--master", "10.0.0.1:29511")
    expected = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0",
                "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29511", "MUSTER_RUN_ID": place.run_id,
                "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_USE_AGENT_STORE": "False"}
    assert {name: variables.get(name) for name in expected} == expected
    hydra = {"PMI_RANK": "2", "PMI_SIZE": "3", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "1"}
    assert seen(place, env=hydra, rank=2)["RANK"] == "2"
    assert seen(place, env={}, rank=0)["WORLD_SIZE"] == "1"


def test_contradiction_is_refused(place):
    code, err = place.refused(["true"], env=place.ENGINE | {"PMIX_RANK": "0"})
    assert code == 125
    assert b"OMPI_COMM_WORLD_RANK=1 contradicts PMIX_RANK=0" in err


def test_stale_rank_is_overwritten_and_the_users_setting_wins(place):
    user = {"RANK": "9", "LOCAL_RANK": "9", "MASTER_PORT": "1234", "GLOO_SOCKET_IFNAME": "mine"}
    rank0 = place.ENGINE | {"OMPI_COMM_WORLD_RANK": "0", "PMIX_RANK": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
    flags = ["--master", "10.0.0.1:29511"]
    decided = {"interface": "ens5", "variables": {"NCCL_IB_HCA": "=mlx5_0:1", "NCCL_IB_GID_INDEX": "3"}, "host_rank": 4, "host_count": 9, "first_rank": 0, "ranks": 1, "all_ranks": 2, "bind_to_gpu": False, "gpus": []}
    (place.folder / "placement").write_text(json.dumps(decided))
    variables = seen(place, *flags, env=rank0 | user, rank=0)
    assert (variables["RANK"], variables["LOCAL_RANK"]) == ("0", "0")
    assert (variables["MASTER_ADDR"], variables["MASTER_PORT"]) == ("10.0.0.1", "1234")
    assert (variables["GLOO_SOCKET_IFNAME"], variables["NCCL_SOCKET_IFNAME"]) == ("mine", "=ens5")
    assert (variables["NCCL_IB_HCA"], variables["NCCL_IB_GID_INDEX"]) == ("=mlx5_0:1", "3")
    assert (variables["GROUP_RANK"], variables["GROUP_WORLD_SIZE"]) == ("4", "9")
    kept = "already set in the environment, so muster did not change it: MASTER_PORT=1234 (not 29511), GLOO_SOCKET_IFNAME=mine (not ens5)"
    assert place.events(0)[0]["remarks"] == [kept]
    assert place.by_hand(["true"], *flags, env=rank0 | user)[2].decode() == f"[n1:0] muster: {kept}\n"
    assert place.run(["true"], *flags, env=place.ENGINE | user)[0] == 0
    assert place.events(1)[0]["remarks"] == []  # shown once, not once per rank


def test_host_outside_the_subnet_says_so(place):
    assert place.run(["true"], "--subnet", "203.0.113.0/24")[0] == 0
    assert place.events()[0]["remarks"] == ["this host has no interface in 203.0.113.0/24, or the interface is down"]


def test_activated_environment(place, tmp_path):
    tool = tmp_path / "venv/bin/tool"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\nexec /usr/bin/env -0\n")
    tool.chmod(0o755)
    activated = {"PATH": f"{tool.parent}:/usr/bin:/bin", "LD_LIBRARY_PATH": "/venv/lib", "ONLY": "here", "SHARED": "activated"}
    place.warden.activated = activated
    engine = place.ENGINE | {"PATH": "/usr/bin:/bin", "SHARED": "forwarded", "NOISE": "x", "MUSTER_FORWARD": "SHARED"}
    code, out, err = place.run(["tool"], env=engine)
    assert code == 0, err
    variables = dict(entry.split("=", 1) for entry in out.decode().split("\0") if entry)
    assert (variables["PATH"], variables["LD_LIBRARY_PATH"]) == (activated["PATH"], "/venv/lib")
    assert (variables["ONLY"], variables["SHARED"], variables["RANK"]) == ("here", "forwarded", "1")
    assert variables["OMPI_COMM_WORLD_SIZE"] == "4"
    assert "NOISE" not in variables


# Output

def test_the_warden_gets_every_byte_and_the_engine_none(place):
    assert place.run(["sh", "-c", "printf 'a\\nb'; printf 'e\\n' >&2"]) == (0, b"a\nb", b"e\n")
    assert [place.events()[1][k] for k in ("out_bytes", "err_bytes")] == [3, 2]
    assert sorted(p.name for p in place.folder.iterdir()) == ["environment", "host", "rank.1.jsonl", "ranks"]  # no output is stored on the host


def test_by_hand_the_lines_are_labelled(place):
    assert place.by_hand(["sh", "-c", "printf 'a\\nb'; printf 'e\\n' >&2"]) == (0, b"[n1:1] a\n[n1:1] b\n", b"[n1:1] e\n")
    assert place.by_hand(place.python("print('x' * 10_000)\nprint('y')"))[1] == b"[n1:1] " + b"x" * 10_000 + b"\n[n1:1] y\n"
    assert place.by_hand(["no-such-program"]) == (127, b"", b"[n1:1] muster: cannot run 'no-such-program': No such file or directory\n")


def test_without_a_run_nothing_is_written(place):
    shim = place.start(["echo", "a"], run=False)
    out, _ = shim.communicate(timeout=TIMEOUT)
    host = socket.gethostname().split(".")[0]
    assert (shim.returncode, out.decode()) == (0, f"[{host}:1] a\n")
    assert place.warden.ranks == {}


def test_binary_output_stays_what_it_is(place, tmp_path):
    data = bytes(range(256)) * 4000 + b"\r\n\n\0" + os.urandom(300_000)
    source = tmp_path / "data"
    source.write_bytes(data)
    assert place.run(["cat", source]) == (0, data, b"")


def test_standard_output_is_a_terminal_so_that_c_programs_write_line_by_line(place):
    assert place.run(["sh", "-c", "test -t 1 && echo out; test -t 2 && echo err; true"])[1] == b"out\n"


def test_hundred_megabytes(place):
    program, data = place.numbered_lines(1_000_000)
    assert len(data) > 95e6
    code, out, _ = place.run(program)
    assert code == 0
    assert hashlib.sha256(out).digest() == hashlib.sha256(data).digest()
    assert place.events()[1]["out_bytes"] == len(data)


def test_an_unfinished_line_arrives_while_the_program_runs(place):
    """The warden gets output before its newline: a progress bar has none, but its movement is a sign of life."""
    shim = place.start(place.python("import sys; print('\\r 10 %', end='', flush=True); sys.stdin.read()"), stdin=subprocess.PIPE)
    place.warden.of(1, lambda told: told.streams["out"] == b"\r 10 %")
    shim.communicate(timeout=TIMEOUT)
    assert shim.returncode == 0


def test_a_warden_that_does_not_read_holds_the_program_up_and_loses_nothing(place, tmp_path):
    program, data = place.numbered_lines(100_000)
    program[2] += f"open('{tmp_path}/written', 'w').close()\n"
    place.warden.held.set()
    shim = place.start(program)
    time.sleep(1)  # enough for a program that does not have to wait
    assert not (tmp_path / "written").exists()
    place.warden.held.clear()
    assert shim.wait(TIMEOUT) == 0
    assert place.bytes(1, "out") == data
    shim.stdout.close()
    shim.stderr.close()


def test_a_rank_without_a_warden_ends_after_a_while(place, tmp_path):
    """Otherwise nobody might end the program. Slurm, for example, can forget tasks that are still starting when it ends their step."""
    (place.folder / "orphan_after_s").write_text("3\n")
    shim = place.start(["sh", "-c", f"trap 'echo told > {tmp_path}/mark' TERM; setsid sleep 1000 & echo up; while :; do sleep 0.1; done"])
    place.lines(1)
    place.warden.close()
    closed = time.monotonic()
    assert shim.wait(TIMEOUT) == -signal.SIGKILL
    assert time.monotonic() - closed >= 3, "it did not wait for another warden"
    assert (tmp_path / "mark").read_text() == "told\n", "it was killed without a warning"
    wait_until(lambda: not place.processes(), "something is left")
    shim.stdout.close()
    shim.stderr.close()


def test_program_that_closes_its_output_goes_on(place, tmp_path):
    mark = tmp_path / "mark"
    assert place.run(["sh", "-c", f"echo a; exec >&- 2>&-; echo done > {mark}; exit 4"])[:2] == (4, b"a\n")
    assert mark.read_text() == "done\n"


def test_a_full_disk_costs_nothing(place):
    """A limit on file sizes simulates a full disk."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    code, out, err = place.run(["sh", "-c", "seq 1000; exit 7"], preexec_fn=limit)
    assert (code, len(out.splitlines()), err) == (7, 1000, b"")
    assert place.events()[1]["status"] == 7 << 8


def test_standard_input_is_the_programs(place):
    shim = place.start(["cat"], stdin=subprocess.PIPE)
    shim.communicate(b"hello\n", timeout=TIMEOUT)
    assert place.bytes(1, "out") == b"hello\n"


def test_run_folder_of_somebody_elses_making_is_refused(place, tmp_path):
    shutil.rmtree(place.folder)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    place.folder.symlink_to(elsewhere)
    code, err = place.refused(["true"])
    assert code == 125 and b"other users can use this directory" in err
    assert list(elsewhere.iterdir()) == []
    place.folder.unlink()
    place.folder.mkdir(mode=0o755)
    assert place.refused(["true"])[0] == 125


# Descriptors and signals

def test_descriptors_reach_the_program_and_are_not_kept(place):
    ours, theirs = socket.socketpair()
    os.dup2(theirs.fileno(), 500)
    code = ("import os, sys\n"
            "own = sorted(int(f) for f in os.listdir('/proc/self/fd'))\n"  # 3 is the listing itself
            "os.write(500, b'here')\nos.close(500)\nsys.stdin.read()\n"
            "print(own, '500' in os.listdir(f'/proc/{os.getppid()}/fd'))")
    shim = place.start(place.python(code), pass_fds=[500], stdin=subprocess.PIPE)
    os.close(500)
    theirs.close()
    assert ours.recv(10) == b"here"
    assert ours.recv(10) == b""  # although the shim is still running
    shim.communicate(timeout=TIMEOUT)
    assert place.bytes(1, "out") == b"[0, 1, 2, 3, 500] False\n"


def test_closed_standard_descriptors(place, tmp_path):
    mark = tmp_path / "mark"
    program = ["sh", "-c", f"echo out; ls /proc/self/fd > {mark}"]
    ended = subprocess.run(["sh", "-c", 'exec 0<&- 1>&- 2>&-; exec "$@"', "sh", *place.words(program)],
                           env=place.clean_environment(**place.ENGINE), timeout=TIMEOUT)
    assert ended.returncode == 0
    assert place.bytes(1, "out") == b"out\n"


def dispositions(text):
    return {m[1]: int(m[2], 16) for m in re.finditer(r"(SigBlk|SigIgn|SigCgt):\s*(\w+)", text)}


def bits(*numbers):
    return sum(1 << (number - 1) for number in numbers)


@pytest.mark.parametrize("ignored, blocked", [([], []), ([signal.SIGPIPE], []), ([signal.SIGINT, signal.SIGCHLD], []),
                                              ([], [signal.SIGUSR1, signal.SIGTERM]), ([signal.SIGHUP], [signal.SIGCHLD])])
def test_dispositions_are_inherited(place, ignored, blocked):
    def prepare():
        for number in range(1, 32):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    code, out, _ = place.run(["cat", "/proc/self/status"], preexec_fn=prepare, restore_signals=False)
    assert code == 0
    got = dispositions(out.decode())
    assert {k: v & 0x7fffffff for k, v in got.items()} == {"SigBlk": bits(*blocked), "SigIgn": bits(*ignored), "SigCgt": 0}


def test_signal_to_the_group_arrives_once(place):
    """Real-time signals are queued, so one that was sent twice would arrive twice."""
    shim = place.start(place.python(place.COUNTING))
    assert place.lines(1) == [b"ready"]
    sent = [signal.SIGUSR1, signal.SIGRTMIN + 1, signal.SIGRTMIN + 1, signal.SIGUSR1, signal.SIGTERM]
    for count, number in enumerate(sent, 2):
        os.killpg(shim.pid, number)
        assert place.lines(count)[-1] == b"%d" % number
    shim.communicate(timeout=TIMEOUT)
    assert shim.returncode == 0
    assert place.bytes(1, "out").count(b"\n") == 1 + len(sent)


def test_default_signal_ends_program_and_shim(place):
    shim = place.start(["sh", "-c", "echo ready; exec sleep 1000"])
    assert place.lines(1) == [b"ready"]
    os.killpg(shim.pid, signal.SIGTERM)
    shim.communicate(timeout=TIMEOUT)
    assert shim.returncode == -signal.SIGTERM
    assert place.events()[1]["by_engine"]


def test_a_program_that_somebody_else_ends_was_not_ended_by_the_engine(place):
    shim = place.start(["sh", "-c", "echo $$; exec sleep 1000"])
    os.kill(int(place.lines(1)[0]), signal.SIGTERM)
    shim.communicate(timeout=TIMEOUT)
    assert shim.returncode == -signal.SIGTERM
    assert not place.events()[1]["by_engine"]


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def test_stop_and_continue_are_passed_on(place):
    shim = place.start(["sh", "-c", "echo $$; exec sleep 1000"])
    pid = int(place.lines(1)[0])
    os.killpg(shim.pid, signal.SIGTSTP)
    wait_until(lambda: state(pid) == "T", "the program was not stopped")
    os.killpg(shim.pid, signal.SIGCONT)
    wait_until(lambda: state(pid) != "T", "the program was not continued")
    os.killpg(shim.pid, signal.SIGTSTP)
    wait_until(lambda: state(pid) == "T", "the program was not stopped")
    os.killpg(shim.pid, signal.SIGKILL)
    place.wait_for_end(pid)
    shim.communicate(timeout=TIMEOUT)


@pytest.mark.parametrize("killed", ["what the engine started", "the runner"])
def test_a_killed_shim_takes_the_programs_group_along(place, killed):
    """If the shim is killed, the kernel kills only the program itself. The child that the program started must die too."""
    program = ["sh", "-c", "trap '' TERM HUP INT; sleep 1000 & echo $$ $!; wait; sleep 1000"]
    shim = place.start(program)
    pids = [int(word) for word in place.lines(1)[0].split()]
    start = place.warden.of(1, lambda told: told.events).events[0]
    assert start["program"]["pid"] == pids[0]
    if killed == "the runner":
        os.kill(start["shim"]["pid"], signal.SIGKILL)
    else:
        os.killpg(shim.pid, signal.SIGKILL)  # as engines do
    assert shim.wait(TIMEOUT) == -signal.SIGKILL
    for pid in pids:
        place.wait_for_end(pid)
    assert shim.stdout.read() == b""  # no process keeps the engine's end open
    shim.stdout.close()
    shim.stderr.close()
    if killed != "the runner":
        end = place.events()[1]
        assert (end["status"], end["by_engine"]) == (signal.SIGKILL, True)


def test_a_program_that_ends_itself_while_the_engine_kills_it_is_heard_to_the_end(place, tmp_path):
    """Its last output arrives, and it has its own exit code. MPI_Abort under MPICH and Intel MPI leads to this: the engine kills
    the rank while the program is about to exit."""
    os.mkfifo(tmp_path / "go")
    shim = place.start(["sh", "-c", f"echo up; read line < {tmp_path}/go; echo my last words >&2; exit 7"])
    assert place.lines(1) == [b"up"]
    go = os.open(tmp_path / "go", os.O_WRONLY)  # returns when the program reads
    os.killpg(shim.pid, signal.SIGKILL)
    os.write(go, b"go\n")
    os.close(go)
    shim.communicate(timeout=TIMEOUT)
    assert place.bytes(1, "err") == b"my last words\n"
    end = place.events()[1]
    assert (end["status"], end["by_engine"]) == (7 << 8, False)


def test_program_has_a_group_of_its_own(place):
    code, out, _ = place.run(place.python("import os; print(os.getpid() == os.getpgid(0), os.getpgid(os.getppid()) == os.getppid())"))
    assert (code, out) == (0, b"True True\n")


def test_what_is_left_over_is_killed(place):
    """The shim leaves none of these alive: a shell in a session of its own and that shell's child, a child without output, and a
    daemon that keeps the output open."""
    code = ("import os, sys, subprocess\n"
            "a = subprocess.Popen(['setsid', 'sh', '-c', 'trap \"\" TERM HUP; sleep 1000 & echo $!; wait'], stdout=subprocess.PIPE)\n"
            "inner = int(a.stdout.readline())\n"
            "b = subprocess.Popen(['sleep', '1000'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
            "c = subprocess.Popen(['setsid', 'sleep', '1000'])\n"
            "print(a.pid, inner, b.pid, c.pid, flush=True)\nos._exit(5)\n")
    shim = place.start(place.python(code))
    pids = [int(word) for word in place.lines(1)[0].split()]
    assert shim.wait(TIMEOUT) == 5
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists()
    assert place.events()[1]["left_over"] == 4
    shim.stdout.close()
    shim.stderr.close()


def test_orphans_are_reaped_while_the_program_runs(place):
    code = ("import os, signal, sys\n"
            "r, w = os.pipe()\n"
            "if os.fork() == 0:\n"
            "    pid = os.fork()\n"
            "    if pid == 0: signal.pause()\n"
            "    os.write(w, b'%d\\n' % pid); os._exit(0)\n"
            "os.wait(); print(os.read(r, 20).decode(), end='', flush=True)\n"
            "sys.stdin.read()")
    shim = place.start(place.python(code), stdin=subprocess.PIPE)
    orphan = int(place.lines(1)[0])
    os.kill(orphan, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{orphan}").exists(), "the orphan is a zombie")
    assert shim.poll() is None
    shim.communicate(timeout=TIMEOUT)
    assert (shim.returncode, place.events()[1]["left_over"]) == (0, 0)
