"""`muster hosts`: the hosts that muster understands, from every place that can name them."""
import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from tests.conftest import is_release
from tests.schemas import described
from tests.waiting import patient

pytestmark = pytest.mark.smoke


@pytest.fixture
def hosts(muster: Path, tmp_path: Path):
    """Yields a function that runs `muster hosts` in an empty folder and returns (exit code,
    stdout, stderr)."""

    def run(*flags: str) -> tuple[int, str, str]:
        ended = subprocess.run([muster, "hosts", *flags], cwd=tmp_path, capture_output=True, text=True, timeout=patient(30))
        return ended.returncode, ended.stdout, ended.stderr

    return run


# Flags as people write them who follow the guides of clouds and engines.
@pytest.mark.parametrize(("flags", "folded"), [
    (["-H", "localhost,worker"], "localhost,worker"),
    (["-H", "104.171.200.62:2,104.171.200.182:2"], "104.171.200.[62,182]:2"),
    (["--host", "10.0.0.1,10.0.0.2"], "10.0.0.[1-2]"),
    (["--hosts", "launcher,worker1,worker2"], "launcher,worker[1-2]"),
    (["-w", "node[01-16]:4,launcher"], "launcher,node[01-16]:4"),
    (["-H", "[2001:db8::1]:4,fe80::1"], "[2001:db8::1]:4,fe80::1"),
])
def test_reads_the_flag(hosts, flags: list[str], folded: str) -> None:
    assert hosts(*flags) == (0, folded + "\n", "")


@pytest.mark.parametrize(("text", "folded"), [
    ("172.17.0.5\n172.17.0.6\n", "172.17.0.[5-6]"),  # a list of addresses
    ("# mine\nnode1 slots=4 max_slots=8\nnode2 slots=4\n", "node[1-2]:4"),  # Open MPI
    ("worker-0 slots=8\nworker-1 slots=8\n", "worker-[0-1]:8"),  # DeepSpeed
    ("node1:2\nnode2:4\n", "node1:2,node2:4"),  # hydra
    ("n1\nn1\nn2\nn2\n", "n[1-2]:2"),  # a PBS node file
    ("node[01-03]\nlauncher\n", "launcher,node[01-03]"),  # Slurm
    ("worker1\r\nworker2", "worker[1-2]"),  # names from an ssh configuration, saved on Windows
])
def test_reads_every_dialect(hosts, tmp_path: Path, text: str, folded: str) -> None:
    (tmp_path / "hosts.txt").write_text(text, newline="")
    for flag in ("-f", "--hostfile", "--machinefile"):
        assert hosts(flag, "hosts.txt") == (0, folded + "\n", "")


def test_refuses_a_mixed_file(hosts, tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("n1 slots=4\n\nn3:4\n")
    code, out, err = hosts("-f", "hosts.txt")
    assert (code, out) == (2, "")
    assert err.startswith("muster: hosts.txt:3:3: the file mixes formats: ")
    assert "in line 1 'slots='" in err


def test_says_the_three_ways_when_nothing_is_named(hosts) -> None:
    code, out, err = hosts()
    assert (code, out) == (2, "")
    assert "-H " in err and "--hostfile " in err and "muster.yaml" in err


def test_an_empty_value_is_not_taken_for_none_given(hosts, tmp_path: Path) -> None:
    (tmp_path / "muster.yaml").write_text("hosts: other\n")
    assert hosts("-H", "")[0] == 2
    assert hosts("-f", "")[0] == 2


def test_refuses_two_lists(hosts) -> None:
    code, _, err = hosts("-H", "a", "-f", "b")
    assert code == 2
    assert err.startswith("muster: -H and --hostfile cannot be used together\n")


def test_names_a_file_that_is_not_there(hosts) -> None:
    code, _, err = hosts("-f", "none.txt")
    assert code == 2
    assert "none.txt" in err


def test_reads_muster_yaml_of_the_folder(hosts, tmp_path: Path) -> None:
    (tmp_path / "muster.yaml").write_text("hosts: [n1, 'n[2-9]:4']\nuser: dev\nport: 2222\nexclude: n3\n")
    value = described("hosts", json.loads(hosts("--json")[1]))
    assert value["folded"] == "n1,n[2,4-9]:4"
    assert (value["user"], value["port"], value["source"]) == ("dev", 2222, "muster.yaml")


def test_flags_win_over_muster_yaml(hosts, tmp_path: Path) -> None:
    (tmp_path / "muster.yaml").write_text("hosts: n[1-4]\nuser: dev\nport: 2222\nexclude: n3\n")
    value = described("hosts", json.loads(hosts("-H", "a,b", "-u", "me", "--json")[1]))
    assert (value["folded"], value["user"], value["port"]) == ("a,b", "me", 2222)
    assert hosts("--exclude", "n1")[1] == "n[2-4]\n"
    assert hosts("--include", "n[1-3]")[1] == "n[1-2]\n"


def test_a_host_file_is_looked_for_beside_the_yaml_that_names_it(hosts, tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab/muster.yaml").write_text("hostfile: hosts.txt\n")
    (tmp_path / "lab/hosts.txt").write_text("n1\n")
    assert hosts("--config", "lab/muster.yaml") == (0, "n1\n", "")


@pytest.mark.parametrize("mode, owner, says", [
    (0o664, 0, "muster.yaml: other users can change this file and so make muster run commands as you\n"
               "  hint: read the file; if you trust it, run: chmod go-w muster.yaml"),
    (0o646, 0, "chmod go-w muster.yaml"),
    (0o644, 12345, "muster.yaml: this file belongs to another user (uid 12345), who could make muster run commands as you")])
def test_a_muster_yaml_of_other_users_runs_nothing(muster: Path, tmp_path: Path, mode, owner, says) -> None:
    config = tmp_path / "muster.yaml"
    config.write_text(f"hosts: localhost\nactivate: touch {tmp_path}/ran\n")
    config.chmod(mode)
    os.chown(config, owner, -1)
    for words in (["check", "--", "true"], ["check", "-H", "localhost", "--", "true"], ["check", "--config", "muster.yaml", "--", "true"]):
        ended = subprocess.run([muster, *words], cwd=tmp_path, capture_output=True, text=True, timeout=patient(30))
        assert ended.returncode == 2 and says in ended.stderr
        assert not (tmp_path / "ran").exists()


def test_a_fault_in_muster_yaml_is_placed(hosts, tmp_path: Path) -> None:
    (tmp_path / "muster.yaml").write_text("user: dev\nhots: n1\n")
    assert hosts() == (2, "", "muster: muster.yaml:2:1: there is no key 'hots'\n  hint: did you mean 'hosts'?\n")


def test_includes_first_and_then_excludes(hosts) -> None:
    assert hosts("-H", "n[1-9]", "--include", "n[2-5]", "--exclude", "n3")[1] == "n[2,4-5]\n"
    assert hosts("-H", "worker-[0-3]", "--include", "worker-0@worker-2")[1] == "worker-[0,2]\n"
    code, _, err = hosts("-H", "n[1-9]", "--include", "n[2-5]", "--exclude", "n7")
    assert (code, err) == (2, "muster: --exclude: n7 is not in the host list\n  hint: the hosts are n[2-5]\n")


def test_prints_as_asked(hosts) -> None:
    flags = ["-H", "n10:4,n9:4,launcher"]
    assert hosts(*flags, "--expand")[1] == "n10\nn9\nlauncher\n"
    assert hosts(*flags, "--count")[1] == "3\n"
    assert hosts(*flags, "--format", "openmpi")[1] == "n10 slots=4\nn9 slots=4\nlauncher\n"
    assert hosts(*flags, "--format", "hydra")[1] == "n10:4\nn9:4\nlauncher\n"
    assert hosts(*flags, "--format", "slurm")[1] == "launcher,n[9-10]\n"
    assert hosts("-H", "a:2,b", "--format", "bare")[1] == "a\na\nb\n"
    value = described("hosts", json.loads(hosts(*flags, "--json")[1]))
    assert value["hosts"][0] == {"name": "n10", "slots": 4}
    assert (value["count"], value["slots"]) == (3, 8)
    assert hosts(*flags, "--count", "--json")[0] == 2


@pytest.mark.parametrize("dialect", ["openmpi", "hydra", "deepspeed"])
def test_what_it_writes_it_reads_back(hosts, tmp_path: Path, dialect: str) -> None:
    expression = "n[08-12]:4,launcher,r[1-2]n[1-2]:2"
    (tmp_path / "hosts.txt").write_text(hosts("-H", expression, "--format", dialect)[1])
    first, again = (json.loads(hosts(*flags, "--json")[1]) for flags in (["-H", expression], ["-f", "hosts.txt"]))
    assert first["hosts"] == again["hosts"]


def cpu_seconds(command: list, folder: Path) -> float:
    before = os.times()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=patient(60))
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def irregular_hosts(form: str) -> list[str]:
    rng = random.Random(1)

    def byte() -> int:
        return rng.randrange(256)

    return {"random addresses": lambda: [f"{byte()}.{byte()}.{byte()}.{byte()}" for _ in range(100_000)],
            "EC2": lambda: [f"ip-10-{byte()}-{byte()}-{byte()}.ec2.internal" for _ in range(100_000)]}[form]()


@pytest.mark.parametrize("most_s", [5, pytest.param(0.5, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("form", ["expression", "file", "addresses", "random addresses", "EC2"])
def test_100000_hosts_take_no_time(muster: Path, tmp_path: Path, form: str, most_s: float) -> None:
    """Measures CPU seconds. The limit is generous for a busy machine, but a quadratic algorithm
    would exceed it."""
    if not is_release(muster):
        pytest.skip("times are those of a release build")
    flags = {"expression": ["-H", "node[000001-100000]:4", "--include", "node[000001-099000]",
                            "--exclude", "node[000010-090000/10]"],
             "file": ["-f", "hosts.txt", "--exclude", "rack[0-500]node07"],
             "addresses": ["-f", "hosts.txt", "--exclude", "10.0.0.0"]}.get(form, ["-f", "hosts.txt"])
    lines = {"expression": [],
             "file": [f"rack{i // 100}node{i % 100:02d} slots=4" for i in range(100_000)],
             "addresses": [f"10.{i % 7}.{i // 7 % 250}.{i // 1750}" for i in range(100_000)]}
    (tmp_path / "hosts.txt").write_text("\n".join(lines[form] if form in lines else irregular_hosts(form)))
    times = [cpu_seconds([muster, "hosts", *flags], tmp_path) for _ in range(3)]
    assert min(times) < most_s, times


def test_100000_keys_in_muster_yaml_are_refused_soon(muster: Path, tmp_path: Path) -> None:
    (tmp_path / "muster.yaml").write_text("".join(f"k{i}: 1\n" for i in range(100_000)))
    before = os.times()
    ended = subprocess.run([muster, "hosts"], cwd=tmp_path, capture_output=True, text=True, timeout=patient(60))
    after = os.times()
    assert (ended.returncode, ended.stderr.splitlines()[0]) == (2, "muster: muster.yaml:1:1: there is no key 'k0'")
    assert after.children_user - before.children_user < 30


def test_refuses_a_fifo_whose_writer_may_never_come(hosts, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    code, out, err = hosts("-f", "fifo")
    assert (code, out) == (2, "")
    assert err.startswith("muster: fifo: this is a named pipe (FIFO), not a regular file\n")


def test_reads_a_pipe_given_as_standard_input(muster: Path, tmp_path: Path) -> None:
    command = "(read -r line < wait; echo n1) | \"$0\" hosts -f /dev/stdin"
    os.mkfifo(tmp_path / "wait")
    with subprocess.Popen(["sh", "-c", command, muster], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as ended:
        (tmp_path / "wait").write_text("go\n")  # muster may already be waiting, and must not give up
        assert ended.communicate(timeout=patient(30))[0] == "n1\n"
    assert ended.returncode == 0
