"""Failure ids that other code names exist in the catalogue."""
import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent


def test_rules_that_reach_hosts_give_ids_of_the_catalogue():
    """src/remote decides what ssh's messages mean, and the checks pass its ids on."""
    source = (ROOT / "src/remote/diagnose.cpp").read_text(encoding="utf-8")
    given = re.findall(r'^     \{"([a-z-]+)", "', source, flags=re.M)
    known = {entry["id"] for file in (ROOT / "src/catalogue/failures").glob("*.yaml") for entry in yaml.safe_load(file.read_text(encoding="utf-8"))}
    assert len(given) > 5
    assert set(given) <= known
