"""Hosts that ssh reaches but that cannot reach each other, or the launcher. muster check must name them before a job hangs."""
import json
import re
import time
from pathlib import Path

import pytest
from tests.schemas import described

pytestmark = pytest.mark.lab
MPI = "PATH=/usr/local/bin:/usr/bin:/bin"  # Debian's Open MPI
FIREWALL = Path(__file__).with_name("rejecting_firewall.py").read_text()
FILTERED = "ephemeral-ports-filtered"
OPEN_MPI = "ompi-oob-no-common-interface"


@pytest.fixture(scope="module")
def hosts(module_lab_up):
    lab = module_lab_up(hosts=4)
    lab.open_doors()
    return lab


@pytest.fixture
def lab(hosts):
    """Restores the network after each test."""
    yield hosts
    hosts.command("link", "launcher,n[1-4]", "--clear")


def check(lab, *words, hosts="n[1-4]"):
    """Returns the findings of `check` as (id, hosts, what, evidence)."""
    ended = lab.exec("launcher", "env", MPI, "muster", "check", "-H", hosts, "--json", *words, timeout=60)
    findings = [described("check-finding", json.loads(line)) for line in ended.stdout.splitlines()]
    assert ended.stderr == "" and ended.returncode == (123 if findings else 0), ended
    assert all(one["severity"] == "error" and one["fix"] for one in findings), findings
    return [(one["id"], one["hosts"], one["what"], one["evidence"]) for one in findings]


def address_of(lab, host):
    return next(one["addresses"][0] for one in lab.status()["hosts"] if one["name"] == host)


def sockets(lab, host):
    """Returns all TCP sockets except ssh's."""
    return set(lab.exec(host, "ss", "-Htan", "not ( sport = :22 or dport = :22 )", root=True, check=True).stdout.splitlines())


def test_healthy_hosts_reach_each_other_and_listen_no_more(lab):
    before = {host: sockets(lab, host) for host in ("n1", "launcher")}
    assert check(lab) == []
    for host, known in before.items():
        assert sockets(lab, host) - known == set()  # a socket in TIME-WAIT could prevent the job from listening


def reject(lab, host, how, source):
    """Makes the host's own firewall reject connections from the other host, except ssh."""
    lab.exec(host, "python3", "-c", FIREWALL, "reject", how, address_of(lab, source), root=True, check=True)


def stop_rejecting(lab, *hosts):
    for host in hosts:
        lab.exec(host, "python3", "-c", FIREWALL, "clear", root=True, check=True)


def test_each_fault_is_named_with_both_hosts_and_the_direction(lab, record_property):
    """A single check finds a one-way firewall, a dead path, a path that loses large packets, a rejecting firewall, and a launcher that
    n2 cannot reach."""
    lab.command("link", "n3", "--only-ssh", "--between", "n2")
    lab.command("link", "n4", "--largest", "1200", "--between", "n1")
    lab.command("link", "n2", "--loss", "100%", "--between", "n4")
    lab.command("link", "launcher", "--only-ssh", "--between", "n2")
    reject(lab, "n1", "rst", "n3")
    try:
        back, large, dead, *one_way = sorted(check(lab), key=lambda finding: (finding[0] != OPEN_MPI, finding[0] == FILTERED, len(finding[1]) < 2, finding[1]))
    finally:
        stop_rejecting(lab, "n1")
    (id, hosts, what, evidence) = back
    assert (id, hosts) == (OPEN_MPI, ["n2"])
    assert "cannot connect to this machine" in what and evidence == "connections to 198.18.0.1 time out"
    (id, hosts, what, evidence) = large
    assert (id, hosts) == ("mtu-mismatch", ["n1", "n4"])
    assert what.startswith("small packets pass between n1 and n4, but large ones do not")
    assert "MTU 1500 of eth0 on n1" in evidence and "MTU 1500 of eth0 on n4" in evidence
    (id, hosts, what, evidence) = dead
    assert (id, hosts) == (FILTERED, ["n2", "n4"])
    assert what.startswith("n2 and n4 cannot connect to each other")
    assert "of n2 time out" in evidence and "of n4 time out" in evidence and "work" not in evidence
    assert [(id, hosts, what.split(",")[0]) for id, hosts, what, _ in one_way] == [(FILTERED, ["n1"], "n3 cannot connect to n1"), (FILTERED, ["n3"], "n2 cannot connect to n3")]
    assert re.fullmatch(r"connections to ports \d+, \d+, \d+ of n1 are refused; in the other direction they work", one_way[0][3])
    assert re.fullmatch(r"connections to ports \d+, \d+ of n3 time out; in the other direction they work", one_way[1][3])
    for id in (FILTERED, OPEN_MPI, "mtu-mismatch"):
        record_property("found before", id)
    assert not any("this machine" in what for _, _, what, _ in check(lab, "--engine", "torchrun", hosts="n2"))  # torchrun does not need the launcher


def test_a_job_between_firewalls_is_not_started(lab):
    """Only port 22 is open everywhere. One finding says so, instead of one per pair."""
    lab.command("link", "n[1-4]", "--only-ssh")
    ended = lab.exec("launcher", "env", MPI, "muster", "run", "-H", "n[1-4]", "--", "hostname", timeout=60)
    assert ended.returncode == 123 and ended.stdout == "", ended
    assert re.findall(r"ERROR +(\S+) +(.*)", ended.stderr) == [("n[1-4]", "the hosts cannot connect to each other, and the job would hang; ssh works")], ended.stderr
    assert "ufw allow from 198.18.0.0/16" in ended.stderr


BEYOND = "n[1-2],beyond,n[4-16]"  # "beyond" is another name of n3, which ssh reaches through n1 over a separate connection
SIXTEEN = [
    ("nothing", [], []),
    ("one direction", [("link", "n7", "--only-ssh", "--between", "n3")], [(FILTERED, ["n7"], "n3 cannot connect to n7")]),
    ("both directions", [("link", "n7", "--loss", "100%", "--between", "n3")], [(FILTERED, ["n3", "n7"], "n3 and n7 cannot connect to each other")]),
    ("a firewall on one host", [("link", "n12", "--only-ssh")], [(FILTERED, ["n12"], "no other host can connect to this one")]),
    ("firewalls on all hosts", [("link", "n[1-16]", "--only-ssh")],
     [(FILTERED, [f"n{i}" for i in range(1, 17)], "the hosts cannot connect to each other")]),
    ("a firewall that resets", [("reject", "n7", "rst", "n3")], [(FILTERED, ["n7"], "n3 cannot connect to n7")]),
    ("a firewall that answers with ICMP", [("reject", "n7", "icmp", "n3")], [(FILTERED, ["n7"], "n3 cannot connect to n7")]),
    ("a launcher behind a firewall", [("link", "launcher", "--only-ssh")],
     [(OPEN_MPI, [f"n{i}" for i in range(1, 17)], "the host cannot connect to this machine")]),
    ("a path that loses large packets", [("link", "n2", "--largest", "1300", "--between", "n5")],
     [("mtu-mismatch", ["n2", "n5"], "small packets pass between n2 and n5, but large ones do not")]),
    ("a path to the launcher that loses large packets", [("link", "launcher", "--largest", "1300", "--between", "n3")],
     [("mtu-mismatch", ["beyond"], "the host cannot send large packets to this machine")]),
]


@pytest.fixture(scope="module")
def sixteen(module_lab_up):
    lab = module_lab_up(hosts=16)
    lab.open_doors()
    lab.shell("launcher", f"printf 'Host beyond\\n  HostName {address_of(lab, 'n3')}\\n  HostKeyAlias n3\\n  ProxyJump n1\\nHost *\\n' | cat - ~/.ssh/config > ~/.ssh/new; mv ~/.ssh/new ~/.ssh/config")
    for hosts in ("n[1-16]", BEYOND):
        assert check(lab, hosts=hosts) == []  # opens the connections
    return lab


@pytest.fixture
def set_fault(sixteen):
    """Returns a function that makes a fault. The faults are undone after the test."""
    undo = []

    def one(kind, *words):
        if kind == "reject":
            reject(sixteen, *words)
            undo.append(lambda: stop_rejecting(sixteen, words[0]))
        else:
            sixteen.command(kind, *words)
            undo.append(lambda: sixteen.command("link", "launcher,n[1-16]", "--clear", timeout=120))

    yield one
    for back in undo:
        back()


@pytest.mark.campaign
@pytest.mark.alone
@pytest.mark.parametrize(("name", "faults", "expected"), SIXTEEN, ids=[name for name, *_ in SIXTEEN])
def test_among_sixteen_hosts(sixteen, set_fault, name, faults, expected, record_property):
    for words in faults:
        set_fault(*words)
    hosts = BEYOND if any("beyond" in named for _, named, _ in expected) else "n[1-16]"
    begin = time.monotonic()
    found = check(sixteen, "--answer-within", "15", hosts=hosts)
    seconds = time.monotonic() - begin
    assert [(id, hosts) for id, hosts, _, _ in found] == [(id, hosts) for id, hosts, _ in expected], found
    for (_, _, what, _), (_, _, begins) in zip(found, expected):
        assert what.startswith(begins), found
    for id, _, _ in expected:
        record_property("found before", id)
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
