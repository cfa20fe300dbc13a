"""One of three hosts is hostile. muster must not execute, show unfiltered, believe, or store without limit what it
sends."""
import json
import re

import pytest
from tests.run.hostile import EVIL, HOSTILE, INVALID, SMUGGLED, HostileCluster, ended, in_facts, line, printed, started, utf8, when
from tests.run.hostile_facts import FACTS, leaves, texts

pytestmark = pytest.mark.lab
ALL = "n1,n2,n3"


@pytest.fixture(scope="module")
def module_hostile(module_lab_up, make_cluster):
    return HostileCluster(make_cluster(module_lab_up(hosts=3)))


@pytest.fixture
def hostile(module_hostile):
    yield module_hostile
    module_hostile.attack()


def checked(hostile, shown, **what):
    """Checks that nothing harmful was shown or executed, and returns `shown`."""
    assert shown.problems(**what) == [], shown.text[-3000:]
    assert hostile.executed() == [], shown.text
    return shown


def check(hostile, *flags, hosts=ALL, **options):
    return checked(hostile, hostile.on_terminal("check", "-H", hosts, *flags, "--", "sh", **options))


def run(hostile, job, *flags, hosts=ALL, **options):
    return checked(hostile, hostile.on_terminal("run", "-H", hosts, *flags, "--", "sh", "-c", job, **options), of_programs=True)


def set_facts(*changes):
    return in_facts(*[([key], value) for key, value in FACTS.items()], *changes)


# The subjects of the findings, tested separately so that no change hides another: a host without a network is not
# examined further.
GROUPS = {
    "machine": ("host", "hostname", "user", "home", "os", "kernel", "cpu", "routes", "own_name_resolves_to", "rdma", "peer_memory", "listeners", "ssh_files", "not_seen"),
    "programs": ("mpi", "torch", "program", "script", "environment"),
    "interfaces": ("interfaces",),
}
EACH_TEXT = [pytest.param([one], id="-".join(map(str, one[0])), marks=pytest.mark.campaign) for one in texts()]
TOGETHER = [pytest.param([one for one in texts() if one[0][0] in keys], id=name) for name, keys in GROUPS.items()]


@pytest.mark.parametrize("where", [*TOGETHER, *EACH_TEXT])
def test_texts_of_facts(hostile, where):
    for addition in (EVIL, SMUGGLED):
        hostile.attack(set_facts(*[(path, value + addition) for path, value in where]))
        shown = check(hostile)
        assert HOSTILE in shown.text or "n[1-3]" in shown.text
        assert "cannot use what it reports" not in shown.text, shown.text  # otherwise the texts would only have reached the parser


def test_fixes_can_be_pasted(hostile):
    """Commands that muster advises contain the host's text. A shell that reads them here runs none of it."""
    hostile.attack(set_facts(*[(path, value + SMUGGLED) for path, value in texts() if path[0] in ("ssh_files", "listeners", "home", "program", "environment")]))
    done = hostile.cluster.muster("check", "-H", ALL, "--json", "--", "sh")
    findings = [json.loads(one) for one in done.stdout.splitlines()]
    advised = [one for finding in findings for one in finding["fix"].splitlines() if re.search(r"\bmuster (exec|sync)\b", one)]
    assert advised, done.stdout
    for command in advised:
        hostile.lab.exec("launcher", "sh", "-c", "muster() { :; }; sudo() { :; }\n" + command[command.index("muster "):])
    assert hostile.executed() == [], advised


def test_json_is_escaped(hostile):
    hostile.attack(set_facts(*[(path, value + EVIL) for path, value in texts() if path[0] not in ("interfaces", "mpi")]))
    shown = checked(hostile, hostile.on_terminal("check", "-H", ALL, "--json", "--", "sh"))
    assert any(HOSTILE in json.loads(one)["hosts"] for one in shown.text.splitlines() if one)


@pytest.mark.parametrize("lie", ["198.18.0.1", "198.18.1.1", "198.18.255.255", "198.18.0.0", "127.0.0.1", "0.0.0.0", "224.0.0.1", "-oProxyCommand=touch"])
def test_lies_about_addresses(hostile, lie):
    """An address of the launcher, of another host, or one that no host can have is an error that names it, so no job
    starts."""
    hostile.attack(in_facts((["interfaces", 1, "addresses", 0, "ip"], lie)))
    shown = check(hostile, hosts="n2,n1,n3")
    assert shown.code == 123 and re.search(r"ERROR +n(2|\[1-2\]) ", shown.text), shown.text


def test_a_hostile_port_range_is_not_blamed_on_others(hostile):
    hostile.attack(in_facts((["port_range_first"], 1024), (["port_range_last"], 65535)))
    shown = check(hostile)
    assert not re.search(r"ERROR +n1 ", shown.text), shown.text


def test_paths_are_not_executed(hostile):
    """The host reports paths of mpirun, torchrun and the interpreter, and a PATH. Programs with these paths also exist on the launcher, but
    muster does not run them."""
    hostile.attack(in_facts(*[([key], FACTS[key]) for key in ("mpi", "torch", "program", "environment", "home", "script")]))
    for flags in (["--force"], ["--force", "--engine", "torchrun"], ["--force", "--engine", "mpich"]):
        run(hostile, "echo up", *flags, "--timeout", "5", hosts="n2,n1,n3", within=60)


def stored(hostile, rank, stream="out"):
    return hostile.lab.shell("launcher", f"cat $(ls -td ~/.local/state/muster/runs/*/ | head -1)ranks/{rank}.{stream}")


def claims_of_other_ranks(*more):
    """Returns rules: the host reports the start and output (`more`) of ranks 0 and 2, which run elsewhere, before they start, and of ranks
    that do not exist. It reports the failures of ranks 0 and 2 when its own rank starts: muster ends a run 5 s after a failure that
    no start has refuted."""
    nonsense = [one for rank in (-1, 3, 2**31, 2**63, 1e300, "1", None, [], 1.5) for one in (started(rank), ended(rank, 768))]
    return (when('"ready"', after=[one for rank in (0, 2) for one in (started(rank), *(make(rank) for make in more))] + nonsense),
            when('"event":"start"', before=[ended(rank, 768) for rank in (0, 2)]))


def test_other_ranks_are_not_its_own(hostile):
    hostile.attack(*claims_of_other_ranks())
    shown = run(hostile, "echo real $RANK; exit 0")
    assert shown.code == 0 and "[n1:0] real 0" in shown.text and "[n3:2] real 2" in shown.text, shown.text
    assert stored(hostile, 0) == "real 0\n" and stored(hostile, 2) == "real 2\n"


def test_output_of_other_ranks_is_not_its_own(hostile):
    hostile.attack(*claims_of_other_ranks(lambda rank: printed(rank, "forged\n")))
    shown = run(hostile, "echo real $RANK; exit 0")
    assert ":0] forged" not in shown.text and stored(hostile, 0) == "real 0\n", shown.text


def test_another_ranks_failure_cannot_be_hidden(hostile):
    hostile.attack(when('"ready"', after=[started(0), ended(0, 0)]))
    shown = run(hostile, "[ $RANK = 0 ] && exit 7; exec sleep 1000", within=60)
    assert shown.code == 7 and "rank 0 on n1 ended with exit code 7" in shown.text, shown.text


def test_texts_of_events_and_output(hostile):
    evil = utf8(EVIL) + INVALID + "\nx\rmuster: forged\n"
    hostile.attack(when('"event":"start"', set=[[["event", "remarks"], [EVIL, SMUGGLED]]], after=[printed(1, evil), printed(1, evil, stream="err")]),
                   when('"event":"end"', set=[[["event", "failure"], EVIL + SMUGGLED], [["event", "status"], 768]]))
    shown = run(hostile, "exit 0")
    assert shown.code == 3 and "muster: rank 1 on n2" in shown.text, shown.text
    for words in (["logs", "last"], ["logs", "last", "--rank", "1"], ["logs", "last", "--rank", "1", "--err"], ["runs"], ["attach", "last"]):
        checked(hostile, hostile.on_terminal(*words), of_programs=True)


ENDLESS = 10**12
FLOODS = {
    "a line": ["x" * 1000, ENDLESS],
    "beats": [line({"report": "beat", "clock_s": 1.0}), ENDLESS],
    "garbage": ["garbage\n", ENDLESS],
    "starts": [started(1), ENDLESS],
    "looks": [line({"report": "looks", "looks": [{"rank": 1, "state": "S", "waits_in": "x" * 1000, "cpu_s": 0.0}] * 100}), ENDLESS],
    "nested": ["[" * (7 << 20) + "\n", 1],
    "declared": [printed(1, "x", size=10**18), 1],
    "declared and sent": [printed(1, "x", size=1 << 32) + "x" * 1000, ENDLESS],
}
IN_CI = ("nested",)  # the other floods make muster wait until the run ends on the hostile host


@pytest.mark.parametrize("flood", [pytest.param(flood, id=name, marks=[] if name in IN_CI else pytest.mark.campaign) for name, flood in FLOODS.items()])
def test_floods(hostile, flood):
    """The good hosts' job reaches its end, and memory and the run's folder stay bounded."""
    hostile.attack(when('"event":"start"', after=[flood]))
    shown = run(hostile, "echo real $RANK", within=60)
    assert "real 0" in shown.text and (shown.code == 0 or HOSTILE in shown.text), shown.text
    assert int(hostile.lab.shell("launcher", "du -sk ~/.local/state/muster/runs/").split()[0]) < 100_000


FACT_FLOODS = {"a line": ["x" * 1000, ENDLESS], "nested": ['{"report":"facts","facts":' + "[" * (7 << 20) + "\n", 1], "garbage": ["garbage\n", ENDLESS],
               "beats": FLOODS["beats"]}


@pytest.mark.parametrize("flood", [pytest.param(flood, id=name, marks=[] if name == "nested" else pytest.mark.campaign) for name, flood in FACT_FLOODS.items()])
def test_floods_instead_of_facts(hostile, flood):
    hostile.attack(when('"report":"facts"', instead=[flood]))
    shown = check(hostile, "--answer-within", "3", within=60)
    assert shown.code == 123 and re.search(r"ERROR +n2 ", shown.text), shown.text


def test_exec(hostile):
    hostile.attack({"command": "^echo", "line": "", "after": [utf8(EVIL) + INVALID], "err": [utf8(EVIL) + INVALID]})
    for flags in ([], ["--label"], ["--json"]):
        shown = checked(hostile, hostile.on_terminal("exec", *flags, "-H", ALL, "--", "echo here"), of_programs=True)
        assert "here" in shown.text


def test_exec_without_end(hostile):
    hostile.attack({"command": "^echo", "line": "", "after": [["x" * 999 + "\n", 200_000]]})
    shown = checked(hostile, hostile.on_terminal("exec", "-H", ALL, "--", "echo here", within=60))
    assert HOSTILE in shown.text


def test_setup(hostile):
    """Keys and addresses that it claims as its own give it no access to other hosts, and its texts are shown safely."""
    lies = ["address 198.18.1.1", "address 198.18.0.1", "address 0.0.0.0/0", "address *", "key command=\"touch x\" ssh-ed25519 AAAA evil", f"changed {utf8(EVIL)}", f"changed {SMUGGLED}"]
    hostile.attack({"command": "exec sh", "line": "^muster end", "before": [f"muster {lie}\n" for lie in lies]})
    checked(hostile, hostile.on_terminal("setup", "-H", ALL, "--yes", "--host-to-host", within=60))
    for host in hostile.good:
        allowed = hostile.lab.shell(host, "cat ~/.ssh/authorized_keys ~/.ssh/muster-mesh/authorized.d/* 2>/dev/null || true")
        assert "command=" not in allowed and "*" not in allowed and "0.0.0.0" not in allowed, allowed
        pinned = hostile.lab.shell(host, "cat ~/.ssh/muster-mesh/known_hosts 2>/dev/null || true")
        hostile_key = hostile.lab.shell(HOSTILE, "cut -d' ' -f2 /etc/ssh/ssh_host_ed25519_key.pub").strip()
        assert not [one for one in pinned.splitlines() if hostile_key in one and re.search(r"198\.18\.(1\.1|0\.1|1\.3)\b", one)], pinned


@pytest.mark.campaign
def test_setup_without_end(hostile):
    hostile.attack({"command": "exec sh", "line": "^muster end", "before": [["muster changed " + "x" * 985 + "\n", 300_000]]})
    shown = checked(hostile, hostile.on_terminal("setup", "-H", ALL, "--yes", within=60))
    assert HOSTILE in shown.text


def test_sync(hostile):
    """The rsync server on the host fails with a long message."""
    hostile.lab.shell("launcher", "mkdir -p ~/project && echo hello > ~/project/file")
    for words in ([utf8(EVIL) + INVALID], [["x" * 1000, 20_000]]):
        hostile.attack({"command": "rsync --server", "err": words, "code": 12})
        shown = checked(hostile, hostile.on_terminal("sync", "-H", ALL, f"/home/{hostile.lab.user}/project", within=60))
        assert shown.code != 0 and f"{HOSTILE}: cannot copy" in shown.text and len(shown.text) < 100_000, shown.text[:3000]


WRONG = {"object": {}, "list": [], "null": None, "negative": -1, "too large": 2**64, "fraction": 0.5, "infinite": "1e999", "not a number": "NaN", "invalid UTF-8": f'"{INVALID}"'}


def with_bytes(path, value):
    """Returns a rule that puts `value`, which may be JSON that Python would not write, into the facts."""
    rule = set_facts((path, "@@@"))
    return rule | {"replace": [['"@@@"', value]]}


@pytest.mark.campaign
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_values_in_every_field(hostile, wrong):
    for path, _ in leaves(FACTS):
        hostile.attack(with_bytes(path, WRONG[wrong]) if isinstance(WRONG[wrong], str) else set_facts((path, WRONG[wrong])))
        shown = check(hostile, "--answer-within", "2")
        assert shown.code in (0, 3), f"{path}: {shown.text}"
