"""Hosts that ssh reaches and that cannot reach each other, or the launcher: found and named before a job hangs."""
import json
import re
import time

import pytest

pytestmark = pytest.mark.lab
MPI = "PATH=/usr/local/bin:/usr/bin:/bin"  # Debian's Open MPI


@pytest.fixture(scope="module")
def hosts(module_lab_up):
    lab = module_lab_up(hosts=4)
    lab.open_doors()
    return lab


@pytest.fixture
def lab(hosts):
    """Whole again after each test."""
    yield hosts
    hosts.command("link", "launcher,n[1-4]", "--clear")


def check(lab, *words, hosts="n[1-4]"):
    """What `check` finds, as (id, hosts, what, evidence)."""
    ended = lab.exec("launcher", "env", MPI, "muster", "check", "-H", hosts, "--json", *words, timeout=60)
    findings = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.stderr == "" and ended.returncode == (3 if findings else 0), ended
    assert all(one["severity"] == "error" and one["fix"] for one in findings), findings
    return [(one["id"], one["hosts"], one["what"], one["evidence"]) for one in findings]


def sockets(lab, host):
    """All but ssh's."""
    return set(lab.exec(host, "ss", "-Htan", "not ( sport = :22 or dport = :22 )", root=True, check=True).stdout.splitlines())


def test_healthy_hosts_reach_each_other_and_listen_no_more(lab):
    before = {host: sockets(lab, host) for host in ("n1", "launcher")}
    assert check(lab) == []
    for host, known in before.items():
        assert sockets(lab, host) - known == set()  # one in TIME-WAIT could make the job's own listener fail


def test_a_firewall_is_named_with_both_hosts_and_the_direction_and_told_from_a_path_that_loses_large_packets(lab):
    lab.command("link", "n3", "--only-ssh", "--between", "n2")
    lab.command("link", "n4", "--largest", "1200", "--between", "n1")
    [(id, hosts, what, evidence), large] = check(lab)
    assert (id, hosts) == ("ephemeral-ports-filtered", ["n3"])
    assert what.startswith("n2 cannot connect to n3")
    assert re.fullmatch(r"connections to ports \d+, \d+ of n3 time out; in the other direction they work", evidence)
    (id, hosts, what, evidence) = large
    assert (id, hosts) == ("mtu-mismatch", ["n1", "n4"])
    assert what.startswith("small packets pass between n1 and n4, but large ones do not")
    assert "MTU 1500 of eth0 on n1" in evidence and "MTU 1500 of eth0 on n4" in evidence


def test_hosts_without_any_path_between_them_are_one_finding(lab):
    lab.command("link", "n3", "--loss", "100%", "--between", "n2")
    [(id, hosts, what, evidence)] = check(lab)
    assert (id, hosts) == ("ephemeral-ports-filtered", ["n2", "n3"])
    assert what.startswith("n2 and n3 cannot connect to each other")
    assert "of n2 time out" in evidence and "of n3 time out" in evidence and "work" not in evidence


def test_a_launcher_that_hosts_cannot_reach_matters_to_an_mpi_only(lab):
    lab.command("link", "launcher", "--only-ssh", "--between", "n2")
    [(id, hosts, what, evidence)] = check(lab, "--answer-within", "20")
    assert (id, hosts) == ("ompi-oob-no-common-interface", ["n2"])
    assert "cannot connect to this machine" in what and "198.18.0.1" in evidence
    assert not any("this machine" in what for _, _, what, _ in check(lab, "--engine", "torchrun"))


def test_a_job_between_firewalls_is_not_started(lab):
    """Only port 22 is open everywhere: this is said once, and not for each pair."""
    lab.command("link", "n[1-4]", "--only-ssh")
    ended = lab.exec("launcher", "env", MPI, "muster", "run", "-H", "n[1-4]", "--", "hostname", timeout=60)
    assert ended.returncode == 125 and ended.stdout == "", ended
    assert re.findall(r"ERROR +(\S+) +(.*)", ended.stderr) == [("n[1-4]", "the hosts cannot connect to each other, and the job would hang; ssh works")], ended.stderr
    assert "ufw allow from 198.18.0.0/16" in ended.stderr


SIXTEEN = [
    ("nothing", [], []),
    ("one direction", [("n7", "--only-ssh", "--between", "n3")], [("ephemeral-ports-filtered", ["n7"], "n3 cannot connect to n7")]),
    ("both directions", [("n7", "--loss", "100%", "--between", "n3")], [("ephemeral-ports-filtered", ["n3", "n7"], "n3 and n7 cannot connect to each other")]),
    ("a firewall on one host", [("n12", "--only-ssh")], [("ephemeral-ports-filtered", ["n12"], "no other host can connect to this one")]),
    ("firewalls on all hosts", [("n[1-16]", "--only-ssh")],
     [("ephemeral-ports-filtered", [f"n{i}" for i in range(1, 17)], "the hosts cannot connect to each other")]),
    ("a launcher behind a firewall", [("launcher", "--only-ssh")],
     [("ompi-oob-no-common-interface", [f"n{i}" for i in range(1, 17)], "the host cannot connect to this machine")]),
    ("a path that loses large packets", [("n2", "--largest", "1300", "--between", "n5")],
     [("mtu-mismatch", ["n2", "n5"], "small packets pass between n2 and n5, but large ones do not")]),
]


@pytest.fixture(scope="module")
def sixteen(module_lab_up):
    lab = module_lab_up(hosts=16)
    lab.open_doors()
    check(lab, hosts="n[1-16]")
    return lab


@pytest.mark.campaign
@pytest.mark.alone
@pytest.mark.parametrize(("name", "links", "expected"), SIXTEEN, ids=[name for name, *_ in SIXTEEN])
def test_among_sixteen_hosts(sixteen, name, links, expected):
    for words in links:
        sixteen.command("link", *words)
    try:
        begin = time.monotonic()
        found = check(sixteen, "--answer-within", "15", hosts="n[1-16]")
        seconds = time.monotonic() - begin
    finally:
        sixteen.command("link", "launcher,n[1-16]", "--clear", timeout=120)
    assert [(id, hosts) for id, hosts, _, _ in found] == [(id, hosts) for id, hosts, _ in expected], found
    for (_, _, what, evidence), (_, _, begins) in zip(found, expected):
        assert what.startswith(begins), found
    print(f"\n| {name} | {'; '.join(what for _, _, what, _ in found) or 'nothing'} | {seconds:.1f} s |")


@pytest.mark.campaign
@pytest.mark.alone
def test_a_lossy_link_is_not_taken_for_a_firewall(sixteen):
    sixteen.command("link", "n2", "--loss", "5%")
    try:
        wrong = [found for found in (check(sixteen, "--answer-within", "15", hosts="n[1-16]") for _ in range(100)) if found]
    finally:
        sixteen.command("link", "n2", "--clear")
    print(f"\n| 5 % loss on the link of one host, 100 checks | {len(wrong)} with a finding | |")
    assert wrong == []
