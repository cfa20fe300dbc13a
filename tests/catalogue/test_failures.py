"""The failure catalogue has the form that its readers rely on."""
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
ENTRIES = yaml.safe_load((ROOT / "src/catalogue/failures.yaml").read_text(encoding="utf-8"))
KEYS = ["id", "layer", "seen_in", "pattern", "causes", "probe", "fix", "evidence", "verified"]


def test_no_id_stands_twice():
    ids = [entry["id"] for entry in ENTRIES]
    assert sorted(set(ids)) == sorted(ids)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["id"])
def test_entry(entry):
    assert list(entry) == KEYS
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry["id"])
    assert entry["causes"] and entry["evidence"] and isinstance(entry["verified"], bool)
    for pattern in entry["pattern"]:
        re.compile(pattern)


def test_rules_that_reach_hosts_give_ids_of_the_catalogue():
    """What ssh's messages mean is told by src/remote; the checks pass its ids on."""
    source = (ROOT / "src/remote/diagnose.cpp").read_text(encoding="utf-8")
    given = re.findall(r'^     \{"([a-z-]+)", "', source, flags=re.M)
    assert len(given) > 5
    assert set(given) <= {entry["id"] for entry in ENTRIES}
