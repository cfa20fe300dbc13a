"""Expansion, counting and folding of host expressions, compared with ClusterShell's NodeSet.

One call of the binary handles all cases. The names in each case begin with its own letters, so
that its part of the output can be found.
"""
import json
import random
import re
import subprocess
from pathlib import Path

import pytest
from tests.waiting import patient
from ClusterShell.NodeSet import NodeSet

CASES = 3000
SEED = 20240


def letters(number: int) -> str:
    """Returns the beginning of the names in one case: 0 -> "caaa", 1 -> "caab"."""
    return "c" + "".join(chr(ord("a") + number // 26**i % 26) for i in (2, 1, 0)) + "-"


def random_ranges(rng: random.Random) -> str:
    parts = []
    for _ in range(rng.randint(1, 4)):
        width = rng.choice([0, 0, 0, 2, 3, 4])
        first = rng.choice([rng.randint(0, 12), rng.randint(90, 110), rng.randint(0, 2000)])
        last = first + rng.choice([0, 1, rng.randint(0, 15)])
        # ClusterShell rejects 01-100: with padding, both ends must have the same number of digits.
        if width and len(str(last)) > width:
            width = len(str(last))
        text = f"{first:0{width}d}"
        if last > first:
            text += f"-{last:0{width}d}" + rng.choice(["", "", f"/{rng.randint(1, 4)}"])
        parts.append(text)
    return ",".join(parts)


def random_name(rng: random.Random, stem: str, axes: int) -> str:
    """Returns a name that contains as many numbers as `axes`, each a range or a single number."""
    name = stem
    for axis in range(axes):
        name += rng.choice(["n", "r", "node-"]) if axis else rng.choice(["", "x"])
        bracket = f"[{random_ranges(rng)}]"
        name += bracket if rng.random() < 0.7 else f"{rng.randint(0, 120):0{rng.choice([1, 3])}d}"
    return name + rng.choice(["", "", "-ib", ".lan"])


def random_case(rng: random.Random, number: int) -> tuple[str, int]:
    axes = rng.choice([0, 1, 1, 1, 1, 2, 3])
    items = [random_name(rng, letters(number), axes) for _ in range(rng.randint(1, 5))]
    return ",".join(items), axes


def split_items(expression: str) -> list[str]:
    """Splits at commas outside brackets."""
    return re.findall(r"(?:\[[^\]]*\]|[^,\[])+", expression)


def by_case(items: list[str]) -> dict[str, list[str]]:
    shares: dict[str, list[str]] = {}
    for item in items:
        shares.setdefault(item[:5], []).append(item)
    return shares


class Bulk:
    """All cases, and muster's output for them."""

    def __init__(self, muster: Path, folder: Path) -> None:
        rng = random.Random(SEED)
        self.cases = [random_case(rng, number) for number in range(CASES)]
        self.file = folder / "hosts.txt"
        self.file.write_text("".join(expression + "\n" for expression, _ in self.cases))
        self.muster = muster
        self.expanded = by_case(self.ask("--expand").split())
        self.folded = by_case(split_items(self.ask("--format", "slurm").strip()))

    def ask(self, *flags: str) -> str:
        command = [self.muster, "hosts", "-f", self.file, *flags]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=patient(60)).stdout


@pytest.fixture(scope="module")
def bulk(muster: Path, tmp_path_factory: pytest.TempPathFactory) -> Bulk:
    return Bulk(muster, tmp_path_factory.mktemp("bulk"))


def test_expands_as_nodeset(bulk: Bulk) -> None:
    for number, (expression, _) in enumerate(bulk.cases):
        names = bulk.expanded[letters(number)]
        assert len(names) == len(set(names)), expression
        assert sorted(names) == sorted(NodeSet(expression)), expression


def test_keeps_the_order_of_first_appearance(bulk: Bulk) -> None:
    for number, (expression, _) in enumerate(bulk.cases):
        first_item = split_items(expression)[0]
        expected = set(NodeSet(first_item))
        assert set(bulk.expanded[letters(number)][:len(expected)]) == expected, expression


def test_counts_as_nodeset(bulk: Bulk) -> None:
    total = sum(len(NodeSet(expression)) for expression, _ in bulk.cases)
    assert int(bulk.ask("--count")) == total


def joined(folded: str) -> str:
    """Joins 91-99,100-104 in NodeSet's text to 91-104. After padded numbers, NodeSet splits a range where the number of digits grows."""
    cut = re.compile(r"(?<=[\[,])([1-9]\d*)(?:-(9+))?,(10*)(?:-(\d+))?(?=[\],])")

    def join(match: re.Match) -> str:
        first, last = match[1], match[2] or match[1]
        if int(last) + 1 != int(match[3]):
            return match[0]
        return f"{first}-{match[4] or match[3]}"

    return cut.sub(join, folded)


def test_folds_one_number_to_the_very_text_of_nodeset(bulk: Bulk) -> None:
    seen = same = 0
    for number, (expression, axes) in enumerate(bulk.cases):
        if axes > 1:
            continue
        ours, theirs = ",".join(bulk.folded[letters(number)]), str(NodeSet(expression))
        seen += 1
        same += ours == theirs
        assert ours == joined(theirs), expression
    assert seen > CASES / 2
    assert same > 0.98 * seen


def test_folds_several_numbers_to_the_same_hosts(bulk: Bulk) -> None:
    ours = theirs = 0
    for number, (expression, axes) in enumerate(bulk.cases):
        if axes < 2:
            continue
        folded = ",".join(bulk.folded[letters(number)])
        assert NodeSet(folded) == NodeSet(expression), expression
        # Disjoint: no host occurs twice.
        assert sum(len(NodeSet(item)) for item in split_items(folded)) == len(NodeSet(expression)), folded
        ours += len(folded)
        theirs += len(str(NodeSet(expression)))
    assert ours < 1.5 * theirs  # compact, though not always split in the same way


def test_what_was_folded_is_read_back_with_its_slots(bulk: Bulk, tmp_path: Path) -> None:
    first = json.loads(bulk.ask("--json"))
    again_file = tmp_path / "folded.txt"
    again_file.write_text(first["folded"])
    command = [bulk.muster, "hosts", "-f", again_file, "--json"]
    again = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=patient(60)).stdout)

    def key(host: dict) -> str:
        return host["name"]

    assert sorted(again["hosts"], key=key) == sorted(first["hosts"], key=key)
    assert again["folded"] == first["folded"]


def test_excludes_and_includes_as_nodeset(bulk: Bulk, tmp_path: Path) -> None:
    rng = random.Random(SEED + 1)
    unwanted: set[str] = set()
    texts = []
    for expression, _ in bulk.cases[:500]:
        names = list(NodeSet(expression))
        chosen = rng.sample(names, (len(names) + 1) // 2)
        unwanted.update(chosen)
        texts.append(str(NodeSet(",".join(chosen))))
    everything = {name for expression, _ in bulk.cases for name in NodeSet(expression)}
    for key, expected in (("exclude", everything - unwanted), ("include", unwanted)):
        config = tmp_path / "muster.yaml"
        config.write_text(f'hostfile: "{bulk.file}"\n{key}:\n' + "".join(f'  - "{text}"\n' for text in texts))
        command = [bulk.muster, "hosts", "--config", config, "--expand"]
        names = subprocess.run(command, check=True, capture_output=True, text=True, timeout=patient(60)).stdout.split()
        assert sorted(names) == sorted(expected)
