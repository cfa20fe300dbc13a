"""Compares real outputs on this machine with docs/reference/schemas. The tests of other commands do the same with outputs that need hosts."""
import json
import subprocess

import pytest
from tests.schemas import described
from tests.waiting import patient

pytestmark = pytest.mark.smoke
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # Debian's Open MPI


@pytest.fixture(scope="module")
def here(muster, tmp_path_factory):
    """Returns here(words), which runs muster with its own state folder and returns what it prints."""
    home = tmp_path_factory.mktemp("home")
    environment = {"PATH": SYSTEM, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}

    def run(*words, code=0):
        done = subprocess.run([muster, *map(str, words)], env=environment, cwd=home, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=patient(60), check=False)
        assert done.returncode == code, done
        return done.stdout

    run.home = home
    return run


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def failed(here):
    """Returns the status file of a run whose rank 1 fails, and what `muster show --json` prints about it."""
    status = here.home / "status.json"
    here("run", "-n", "2", "--status", status, "--", "sh", "-c", "[ $RANK = 0 ] || { echo no space left >&2; exit 3; }", code=3)
    return json.loads(status.read_text()), json.loads(here("show", "--json"))


def test_a_run(here, failed):
    status, shown = failed
    assert described("status", status)["code_of"] == "rank"
    assert described("show", shown)["state"] == "failed"
    (record,) = shown["records"]
    assert described("record", record)["first_failed_rank"] == 1 and len(record["ranks"]) == 2
    assert described("runs", objects(here("runs", "--json"))[0])["id"] == status["run"]
    assert described("explain", json.loads(here("explain", "--json")))["confidence"]


def test_a_dry_run(here):
    assert described("launch-plan", json.loads(here("run", "-n", "2", "--dry-run", "--json", "--", "sh")))["commands"]


def test_a_refused_run(here):
    findings = objects(here("check", "-n", "2", "--json", "--", "/nowhere/train", code=127))
    assert findings and all(described("check-finding", one)["what"] for one in findings)


def test_facts(here):
    assert described("facts", json.loads(here("facts", "--json", "--program", "python3")))["program"]["path"]


def test_exec(here):
    outcomes = [objects(here("exec", "-H", "localhost", "--json", *words, code=code)) for words, code in
                ((["echo hi; exit 3"], 3), (["kill -9 $$"], 137), (["--timeout", "1", "sleep 1000"], 124))]
    assert [described("exec", one).get("code") for (one,) in outcomes] == [3, 137, None]


def test_hosts_and_config(here):
    assert described("hosts", json.loads(here("hosts", "-H", "a,b:2", "--json")))["count"] == 2
    assert "SEED" in described("config", json.loads(here("config", "-H", "a", "-x", "SEED=1", "--json")))["variables"]


def test_a_saved_state(here):
    here("check", "-n", "1", "--save", "--", "true")
    (state,) = (here.home / "state/muster/hosts").glob("*.json")
    assert described("saved-state", json.loads(state.read_text()))["facts"]["kernel"]


def test_a_field_that_no_schema_has_is_noticed(failed):
    for where in (lambda shown: shown, lambda shown: shown["records"][0], lambda shown: shown["records"][0]["ranks"][1]):
        shown = json.loads(json.dumps(failed[1]))
        where(shown)["surprise"] = 1
        with pytest.raises(AssertionError, match="surprise"):
            described("show", shown)


def test_a_field_that_is_missing_or_of_another_type_is_noticed(failed):
    (record,) = failed[1]["records"]
    for wrong in ({name: value for name, value in record.items() if name != "verdict"}, {**record, "code": "3"}):
        with pytest.raises(AssertionError, match="verdict|code"):
            described("record", wrong)
