"""muster check --save stores the state of hosts. Later checks name exactly what changed, on the right host."""
import json
import re

import pytest
from tests.checks.test_check import MPI, SYSTEM_PATH
from tests.schemas import described

pytestmark = pytest.mark.lab

STATES = "/home/dev/.local/state/muster/hosts"


def check(lab, *words, hosts, code=None):
    """Returns the findings about changes as (id, severity, hosts), the findings themselves, and the text printed
    beside them."""
    ended = lab.exec("launcher", "env", f"PATH={MPI['4.1']}:{SYSTEM_PATH}", "muster", "check", "-H", hosts, "--json", *words, timeout=60)
    assert ended.returncode in ({0, 123} if code is None else {code}), ended.stdout + ended.stderr
    findings = [described("check-finding", json.loads(line)) for line in ended.stdout.splitlines()]
    changes = [one for one in findings if one["id"].endswith("-changed") or one["id"].startswith("saved-")]
    return [(one["id"], one["severity"], *one["hosts"]) for one in changes], changes, ended.stderr


@pytest.fixture(scope="module")
def machines(module_lab_up):
    lab = module_lab_up(hosts=3, like="hgx-roce")
    lab.open_doors()
    return lab


def test_what_changed_is_named_on_its_host(machines):
    """Each change is named on its host until it is accepted or undone. --force is needed because a lab cannot raise the limit of
    locked memory everywhere."""
    lab, hosts = machines, "n[1-3]"
    changes, _, said = check(lab, "--save", "--force", hosts=hosts)
    assert changes == [] and f"saved the state of n[1-3] in {STATES}" in said
    assert lab.shell("launcher", f"stat -c %a {STATES} {STATES}/n1.json").split() == ["700", "600"]
    assert check(lab, hosts=hosts)[0] == []
    said = lab.exec("launcher", "env", f"PATH={MPI['4.1']}:{SYSTEM_PATH}", "muster", "check", "-H", "n[1-2],launcher", timeout=60).stdout
    assert "  compared with the saved state of n[1-2]; launcher has none\n" in said, said
    for words in (["rail-slow", "3"], ["rail-firmware", "5"], ["gpu-missing", "5"]):
        lab.command("break", "n2", *words)
    lab.shell("n3", "sed '/^MemTotal/ s/[0-9]* kB/99 kB/' /proc/meminfo > /run/meminfo; mount --bind /run/meminfo /proc/meminfo", root=True)
    found, changes, _ = check(lab, hosts=hosts)
    assert found == [("gpu-changed", "warning", "n2"), ("rdma-changed", "warning", "n2"), ("memory-changed", "warning", "n3"), ("rdma-changed", "note", "n2")]
    what = [one["what"] for one in changes]
    assert what[0].startswith("its number of GPUs is 7 (none at 0000:c3:00.0); it was 8 on 20")
    assert what[1].startswith("the rate of mlx5_3 is 100 Gb/sec (4X EDR); it was 400 Gb/sec (4X NDR) on 20")
    assert what[2].startswith("its memory is 99 KiB; it was ")
    assert what[3].startswith("the firmware of mlx5_7 is 20.30.1004; it was ")
    # A change is accepted only for the hosts that are named.
    lab.shell("launcher", re.search(r"^  (muster check -H n3 --save)$", changes[2]["fix"], re.M)[1] + " --force")
    assert {one[-1] for one in check(lab, hosts=hosts)[0]} == {"n2"}
    lab.command("mend", "n2")
    assert check(lab, hosts=hosts)[0] == []
    ran = lab.exec("launcher", "muster", "run", "--force", "-H", "n3", "--", "true", timeout=60)
    assert "-changed]" not in ran.stderr, ran.stderr
    lab.shell("n3", "umount /proc/meminfo", root=True)
    ran = lab.exec("launcher", "muster", "run", "--force", "-v", "-H", "n3", "--", "true", timeout=60)
    assert ran.returncode == 0 and "it was 99 KiB on 20" in ran.stderr, ran.stderr


@pytest.fixture(scope="module")
def two(module_lab_up):
    lab = module_lab_up(hosts=2)
    lab.open_doors()
    return lab


def test_a_host_with_an_error_is_not_saved(two):
    two.command("break", "n1", "port", "29507")
    words = ["--save", "--master-port", "29507"]
    _, _, said = check(two, *words, hosts="n[1-2]", code=123)
    assert "saved the state of n2 in" in said and "not saved because of the errors above: n1; to save anyway: --force" in said
    assert two.shell("launcher", f"ls {STATES}") == "n2.json\n"
    _, _, said = check(two, *words, "--force", hosts="n[1-2]", code=123)
    assert "saved the state of n[1-2] in" in said and "not saved" not in said
    refused = two.exec("launcher", "muster", "check", "-H", "n1", "--force")
    assert refused.returncode == 2 and "--save" in refused.stderr


def test_a_slurm_job_has_no_saved_states(two):
    """Inside a Slurm job, muster neither saves states nor compares with them, even if an engine is named and it reaches the hosts over ssh."""
    check(two, "--save", hosts="n[1-2]", code=0)
    slurm = ["env", "SLURM_JOB_ID=5", "SLURM_JOB_NODELIST=n[1-2]", f"PATH={MPI['4.1']}:{SYSTEM_PATH}", "muster"]
    for words in (["check"], ["bench", "pairs"]):
        refused = two.exec("launcher", *slurm, *words, "-H", "n[1-2]", "--engine", "openmpi", "--save")
        assert refused.returncode == 2 and "inside a Slurm job or a pod" in refused.stderr, refused
    two.shell("launcher", f"sed -i 's/\"memory_bytes\":[0-9]*/\"memory_bytes\":5/' {STATES}/n1.json")
    assert check(two, hosts="n[1-2]", code=0)[0] == [("memory-changed", "note", "n1")]
    said = two.exec("launcher", *slurm, "check", "-H", "n[1-2]", "--engine", "openmpi", timeout=60).stdout
    assert "not compared with saved states inside a Slurm job or a pod" in said and "memory-changed" not in said, said


def test_a_replaced_machine_does_not_inherit_rates(two):
    check(two, "--save", hosts="n[1-2]", code=0)
    edit = (f"import json\nfor host in ('n1', 'n2'):\n path = f'{STATES}/{{host}}.json'; state = json.load(open(path))\n"
            " state['rates'] = [dict(to='n3', how='bare', bytes_per_second=1e9, saved_s=1793577600)]\n"
            " if host == 'n1': state['hostname'] = state['facts']['hostname'] = 'old'\n json.dump(state, open(path, 'w'))")
    two.shell("launcher", f"python3 -c \"{edit}\"")
    found, changes, _ = check(two, "--save", hosts="n[1-2]", code=0)
    assert found == [("saved-state-unusable", "note", "n1")] and "the saved state is that of old" in changes[0]["evidence"], changes
    rates = [described("saved-state", json.loads(two.shell("launcher", f"cat {STATES}/{host}.json")))["rates"] for host in ("n1", "n2")]
    assert rates[0] == [] and len(rates[1]) == 1
    assert check(two, hosts="n[1-2]", code=0)[0] == []


HOSTILE = {
    "garbage": ("head -c 4000 /dev/urandom > $f", "no JSON"),
    "no JSON object": ("echo '[1]' > $f", "is not an object"),
    "another type": ("""sed -i 's/"memory_bytes":[0-9]*/"memory_bytes":"much"/' $f""", "facts.memory_bytes is not a whole number"),
    "an impossible date": ("""sed -i 's/"saved_s":[0-9.]*/"saved_s":1e300/' $f""", "a date or a rate is impossible"),
    "too long": ("truncate -s 100M $f", "longer than"),
    "too deep": ("head -c 100000 /dev/zero | tr '\\0' '[' > $f", "nested too deeply"),
    "a pipe": ("rm $f; mkfifo $f", "named pipe"),
    "a directory": ("rm $f; mkdir $f", "directory"),
    "of another host": ("cp ${f%1.json}2.json $f", "the saved state of another host"),
    "writable by others": ("chmod 666 $f", "other users can change this file"),
    "of another user": ("chown nobody $f; chmod 644 $f", "other users can change this file"),
    "not readable": ("chown root $f", "Permission denied"),
    "in a directory of others": ("chmod 777 ${f%/*}", "other users can change this directory"),
}


def test_a_hostile_file_is_reported_plainly(two):
    check(two, "--save", hosts="n[1-2]", code=0)
    two.shell("launcher", f"cp -a {STATES} /run/good", root=True)
    for name, (spoil, why) in HOSTILE.items():
        two.shell("launcher", f"rm -rf {STATES}; cp -a /run/good {STATES}; f={STATES}/n1.json; {spoil}", root=True)
        found, changes, said = check(two, hosts="n[1-2]", code=0)
        assert found and set(found) <= {("saved-state-unusable", "note", "n1"), ("saved-state-unusable", "note", "n1", "n2")}, name
        assert why in changes[0]["evidence"] and changes[0]["evidence"].startswith(STATES) and said == "", (name, changes)
    # The damaged file is not replaced. The other host's state is saved.
    two.shell("launcher", f"rm -rf {STATES}; cp -a /run/good {STATES}; f={STATES}/n1.json; {HOSTILE['no JSON object'][0]}; rm {STATES}/n2.json", root=True)
    _, _, said = check(two, "--save", hosts="n[1-2]", code=125)
    assert f"saved the state of n2 in {STATES}" in said and f"not saved: n1: {STATES}/n1.json: " in said, said
    assert two.shell("launcher", f"cat {STATES}/n1.json") == "[1]\n" and "n2.json" in two.shell("launcher", f"ls {STATES}")
    # Control characters in a file do not reach the terminal. A file of an older muster lacks some facts.
    script = (f"import json; path = '{STATES}/n1.json'; state = json.load(open(path)); facts = state['facts']; facts['kernel'] = '\\x1b[31mold'; "
              "del facts['cpu'], facts['limits']; json.dump(state, open(path, 'w'))")
    two.shell("launcher", f"rm -rf {STATES}; cp -a /run/good {STATES}; python3 -c \"{script}\"", root=True)
    found, changes, _ = check(two, hosts="n[1-2]", code=0)
    assert found == [("software-changed", "note", "n1")] and "it was ?[31mold on 20" in changes[0]["what"], changes
    two.shell("launcher", f"rm {STATES}/n1.json")
    assert check(two, hosts="n[1-2]", code=0)[0] == []
