"""`muster bench` on lab hosts whose links are shaped: it must report the links' properties and name slow hosts."""
import json
import re
import subprocess

import pytest
from tests.bench.conftest import OPEN_MPI, Bench
from tests.on_terminal import on_terminal
from tests.run.launchers import ACTIVATE_TORCH
from tests.waiting import patient, until

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def two(module_lab_up, programs):
    return Bench(module_lab_up(hosts=2), programs)


def iperf3(lab, seconds=2):
    """Returns the bytes per second that n2 receives from n1."""
    server = subprocess.Popen(lab.words("n2", "timeout", "30", "iperf3", "-s", "-1", "--forceflush"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert any("Server listening" in line for line in server.stdout)
    ended = json.loads(lab.shell("n1", f"iperf3 -c n2 -t {seconds} -J"))["end"]
    server.communicate(timeout=patient(30))
    return ended["sum_received"]["bits_per_second"] / 8


def check_traffic(results):
    """Asserts that each host counted the bytes that an all-reduce of the largest size sends through its link, and nothing else."""
    for traffic in results["traffic"]:
        (eth0,) = [device for device in traffic["devices"] if device["name"] == "eth0"]
        moved = max(m["bytes"] * m["iterations"] for m in results["measurements"] if m["backend"] == traffic["backend"])
        assert 0.9 * moved < eth0["sent"] < 1.3 * moved, (traffic, moved)


def test_what_is_measured_is_right_and_within_the_link(two):
    """busbw may exceed the link's rate by half at most. Only a wrong unit or factor would miss the lower bound, however busy the machine is."""
    two.link("n[1-2]", "--rate", "100mbit")
    results = two.results("all-reduce", "--backend", "mpi,gloo", "--min", "4M", "--max", "4M", "--expect", "5mbit")
    for one in results["measurements"]:
        assert one["wrong"] == 0 and 0.05 * 100e6 < 8 * one["busbw"] < 1.5 * 100e6, one
    assert [v["outcome"] for v in results["verdicts"]] == ["pass", "pass"], results["verdicts"]
    check_traffic(results)


@pytest.mark.campaign
@pytest.mark.alone
@pytest.mark.parametrize("rate, size, backends", [("100mbit", "16M", "gloo"), ("1gbit", "64M", "mpi,gloo")])
def test_busbw_is_what_iperf3_measures(two, rate, size, backends):
    two.link("n[1-2]", "--rate", rate)
    peers = [iperf3(two.lab), iperf3(two.lab)]
    results = two.results("all-reduce", "--backend", backends, "--min", "16M", "--max", size, "--factor", "4", "--expect", rate)
    peers.append(iperf3(two.lab))
    best = max(m["busbw"] for m in results["measurements"] if m["bytes"] >= 16 << 20)
    link = max(peers)  # measured before and after; the largest, because the machine may have been busy for a moment
    print(f"\n{rate}: busbw {8e-6 * best:.1f} Mbit/s, iperf3 {[round(8e-6 * one, 1) for one in peers]} Mbit/s")
    assert abs(best / link - 1) <= 0.05
    assert all(m["wrong"] == 0 for m in results["measurements"])
    assert [v["outcome"] for v in results["verdicts"]] == ["pass", "pass"], results["verdicts"]
    check_traffic(results)


def test_a_link_that_gives_less_than_it_says(two):
    """The link has 100 Mbit/s, but a lab's interface claims 10 Gbit/s. One line of the output says FAIL, and the text says what to do."""
    two.link("n[1-2]", "--rate", "100mbit")
    done = two.bench("broadcast", "--backend", "bare", "--min", "1M", "--max", "1M", "-xTOKEN=hush", "-x", "OTHER=hush")
    assert done.returncode == 3, done.stdout + done.stderr
    (verdict,) = [line for line in done.stdout.splitlines() if "FAIL" in line]
    assert "broadcast" in verdict and "measured" in verdict
    text = " ".join(line.strip("# ") for line in done.stdout.splitlines())
    assert "eth0 reports 10.0 Gbit/s" in text and "--expect" in text and "muster bench pairs" in text
    assert done.stderr == "", "not on a terminal: nothing is said beside the results"
    assert "-xTOKEN" in done.stdout and "hush" not in done.stdout


def test_lab_hosts_have_muster_bench(two):
    """`muster bench` runs on hosts as `muster lab up` makes them: nothing has to be installed, and no flag is needed. Without
    muster-bench, the error names the flag."""
    words = ["launcher", "env", f"PATH={OPEN_MPI}", "muster", "bench", "barrier", "-H", two.all, "--backend", "bare", "--seconds", "0.1"]
    done = two.lab.exec("launcher", *on_terminal(*words[1:]))
    assert done.returncode in (0, 3) and "# barrier" in done.stdout, done
    assert "\x1b[Kbench: barrier: starting 2 ranks" in done.stdout and re.search(r"\x1b\[Kbench: barrier: .* \(1 of \d+", done.stdout), done  # progress
    done = two.lab.exec(*words, "--bench-program", "no-such-program")
    assert done.returncode == 123 and "--bench-program PATH" in done.stderr, done


def test_two_runs_compared(two):
    for rate, name in (("100mbit", "a"), ("10mbit", "b")):
        two.link("n[1-2]", "--rate", rate)
        script = (f"cd && env PATH={OPEN_MPI} {two.muster_beside} bench all-reduce --answer-within 45 --backend bare --min 64K --max 1M --factor 4 --seconds 0.3 "
                  f"--expect {rate} -H {two.all} --json --report {name}.html > {name}.json")
        done = two.lab.exec("launcher", "sh", "-c", script)
        assert done.returncode in (0, 3), done.stderr  # 3, because MPI's own all-reduce may not fill a link
    said = two.lab.shell("launcher", f"cd && {two.muster_beside} bench compare a.json b.json")
    first = next(line for line in said.splitlines() if "faster" in line or "slower" in line)
    assert "all-reduce" in first and "bare" in first, said
    assert "slower" in first and "10mbit" in said and "100mbit" in said, said  # the output mentions that the commands differ
    same = two.lab.shell("launcher", f"cd && {two.muster_beside} bench compare a.json a.json")
    assert "othing differs by more than the noise" in same, same
    assert two.lab.shell("launcher", "cd && head -c 15 b.html").lower() == "<!doctype html>"
    two.lab.shell("launcher", f"cd && {two.muster_beside} bench show last > shown")  # runs keep their results


def test_ctrl_c_shows_what_is_done(two):
    two.link("n[1-2]", "--rate", "100mbit")
    before = two.processes()
    runs = "~/.local/state/muster/runs"
    earlier = two.lab.shell("launcher", f"ls {runs}").split()
    run = two.launch(["env", f"PATH={OPEN_MPI}", two.muster_beside, "bench", "all-reduce", "--backend", "bare", "--min", "8", "--max", "1G", "-H", two.all])
    until("a run", lambda: two.lab.shell("launcher", f"ls {runs}").split() != earlier, within=20)
    counted = f"grep -c '\"measurement\"' {runs}/$(ls {runs} | tail -1)/out"
    until("3 measurements", lambda: int(two.lab.exec("launcher", "sh", "-c", counted).stdout or 0) >= 3, within=30)
    two.lab.shell("launcher", f"read pid rest < {runs}/$(ls {runs} | tail -1)/owner && kill -INT $pid")
    assert run.end(30) == 130, run.said()
    rows = [line for line in run.out if line and not line.startswith("#")]
    assert len(rows) >= 3 and rows[0].split()[0] == "8", run.said()
    assert "interrupt" in " ".join(run.out).lower(), run.said()
    two.settles(before, 20, may_end=True)


def test_links_that_became_slower_since_their_rates_were_saved(two):
    """The links become twenty times slower, which no busy machine causes twice in a row."""
    def pairs(*words):
        done = two.bench("pairs", "--backend", "bare", "--seconds", "0.5", "--expect", "1mbit", *words)
        return done.returncode, " ".join(done.stdout.replace("#", "").split()), done.stderr

    two.link("n[1-2]", "--rate", "200mbit")
    code, _, said = pairs("--save")
    assert code == 0 and "saved the rates of 1 of 1 links in /home/dev/.local/state/muster/hosts" in said, said
    two.link("n[1-2]", "--rate", "10mbit")
    code, text, said = pairs("--save")
    assert code == 3 and "FAIL: compared with 2 saved rates slower than saved, also when measured again: n" in text, text + said
    assert "saved the rates of 0 of 1 links" in said and "--save-slow" in said, said
    states = "/home/dev/.local/state/muster/hosts"
    two.lab.shell("launcher", f"echo '[1]' > {states}/n2.json")
    code, text, said = pairs("--save-slow")
    assert code == 125 and "compared with" not in text and "not compared with the saved rates of n2: " in said and f"not saved: n2: {states}/n2.json: " in said, text + said
    assert two.lab.shell("launcher", f"cat {states}/n2.json") == "[1]\n"
    two.lab.shell("launcher", f"rm {states}/n2.json")
    code, text, said = pairs("--save-slow")
    assert code == 0 and "saved the rates of 1 of 1 links" in said, text + said
    code, text, said = pairs()
    assert code == 0 and "compared with 2 saved rates" in text and "when measured again" not in text and said == "", text + said
    two.lab.shell("launcher", f"sed -i 's/\"hostname\":\"n2\"/\"hostname\":\"old\"/' {states}/n2.json")
    code, text, said = pairs("--save")
    assert code == 125 and "compared with" not in text and "not saved: n2: the host calls itself n2, but its saved state is that of old" in said, text + said
    assert two.bench("broadcast", "--save").returncode == 2


def test_through_torchrun(two):
    two.link("n[1-2]", "--clear")
    results = two.results("all-reduce", "--engine", "torchrun", "--activate", ACTIVATE_TORCH, "--min", "1K", "--max", "1M", "--factor", "32", "--seconds", "0.1",
                          "--expect", "10mbit")
    assert results["engine"].startswith("torchrun")
    assert {m["backend"] for m in results["measurements"]} == {"gloo"} and len(results["measurements"]) == 3


def test_a_training(two):
    two.link("n[1-2]", "--rate", "100mbit")
    done = two.bench("ddp", "--model", "mlp", "--batch", "8", "--steps", "3", within=200)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line and not line.startswith("#")]
    assert [(row[0], row[2]) for row in rows] == [("mlp", "1"), ("mlp", "2")], done.stdout
    waiting = float(rows[1][7])
    assert waiting > 5, "16 MB of gradients over 100 Mbit/s; 97 % on a quiet machine, less where other programs slow the computing down"
    assert re.search(r"a link needs [\d.]+ [MG]bit/s on 2 hosts", " ".join(done.stdout.replace("#", "").split())), done.stdout


def test_the_table_of_a_cluster(eight):
    """The table has a row for 2, 4 and 8 ranks, and in each row busbw follows from algbw."""
    eight.link("n[1-8]", "--rate", "200mbit")
    done = eight.bench("all-reduce", "--table", "--backend", "bare", "--min", "1M", "--max", "1M", "--seconds", "0.1", "--expect", "200mbit")
    assert done.returncode in (0, 3), done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if line.startswith("|")]
    numbers = {int(row[0]): row[1:] for row in rows if row[0].isdigit()}
    assert sorted(numbers) == [2, 4, 8], done.stdout
    for ranks, (rdma_bus, rdma_alg, bus, alg) in numbers.items():
        assert (rdma_bus, rdma_alg) == ("-", "-")
        assert float(bus) == pytest.approx(float(alg) * 2 * (ranks - 1) / ranks, rel=0.02)
