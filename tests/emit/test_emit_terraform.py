"""`muster emit terraform` only writes files; `muster hosts --terraform` reads Terraform's output."""
import json
import os
import stat
import subprocess

import pytest
from tests.waiting import patient

pytestmark = pytest.mark.smoke

WORDS = ("--type", "c7i.2xlarge", "--ssh-from", "203.0.113.7")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKey"


@pytest.fixture
def run(muster, tmp_path):
    def run(*words, code=0, **more):
        done = subprocess.run([muster, *words], cwd=tmp_path, capture_output=True, text=True, timeout=patient(30), **more)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr if code else done.stdout

    return run


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_private_keys_are_only_ours_and_in_no_other_file(run, tmp_path):
    old = os.umask(0)
    try:
        said = run("emit", "terraform", "--provider", "aws", "--to", "cloud", *WORDS)
    finally:
        os.umask(old)
    assert "terraform init && terraform apply" in said
    keys = tmp_path / "cloud/keys"
    private = ["launcher", "login", "worker-1", "worker-2"]
    assert sorted(path.name for path in keys.iterdir()) == sorted([*private, *[f"{name}.pub" for name in private]])
    assert mode(keys) == 0o700 and {mode(keys / name) for name in private} == {0o600}
    assert len({(keys / name).read_text() for name in private}) == 4
    others = [content for path, content in contents(tmp_path / "cloud").items() if path not in [f"keys/{name}" for name in private]]
    assert not any(b"PRIVATE KEY" in content for content in others)
    assert "PRIVATE KEY" not in said


def test_a_second_time_changes_nothing_and_more_workers_keep_the_keys(run, tmp_path):
    run("emit", "terraform", "--to", "cloud", *WORDS)
    before = contents(tmp_path / "cloud")
    assert "already up to date" in run("emit", "terraform", "--to", "cloud", *WORDS)
    assert contents(tmp_path / "cloud") == before
    refused = run("emit", "terraform", "--to", "cloud", "--nodes", "3", *WORDS, code=2)
    assert "terraform.tfvars: this file differs" in refused and "--force" in refused
    assert contents(tmp_path / "cloud") == before
    run("emit", "terraform", "--to", "cloud", "--nodes", "3", "--force", *WORDS)
    after = contents(tmp_path / "cloud")
    assert {path for path in after if before.get(path) != after[path]} == {"keys/worker-3", "keys/worker-3.pub", "terraform.tfvars"}


@pytest.mark.parametrize("words", [("--ssh-from", "0.0.0.0/0", "--type", "c7i.2xlarge"), ("--ssh-from", "203.0.113.7", "--type", "big"),
                                   (*WORDS, "--nodes", "0"), (*WORDS, "--provider", "other"), (*WORDS, "--name", "a b"), WORDS[:2], WORDS[2:]])
def test_refuses_before_anything_is_written(run, tmp_path, words):
    run("emit", "terraform", "--to", "cloud", *words, code=2)
    assert list(tmp_path.iterdir()) == []


def outputs(**changes):
    def instance(number):
        return {"public": f"203.0.113.{number}", "private": f"10.77.0.{number}", "host_key": f"{KEY}{number} muster"}

    value = {"user": "ubuntu", "launcher": instance(4), "workers": [instance(12), instance(5)]} | changes
    return json.dumps({"muster": {"sensitive": False, "type": "object", "value": value}})


def test_hosts_reads_a_file_or_a_pipe(run, tmp_path):
    (tmp_path / "out.json").write_text(outputs())
    assert run("hosts", "--terraform", "out.json", "--expand") == "10.77.0.12\n10.77.0.5\n"
    assert run("hosts", "--terraform", "-", "--expand", input=outputs()) == "10.77.0.12\n10.77.0.5\n"
    assert run("hosts", "--terraform", "out.json", "--public", "--expand") == "203.0.113.4\n"
    assert run("hosts", "--terraform", "out.json", "--exclude", "10.77.0.5") == "10.77.0.12\n"
    assert run("hosts", "--terraform", "out.json", "--known-hosts") == "".join(
        f"203.0.113.{number},10.77.0.{number} {KEY}{number}\n" for number in (4, 12, 5))
    shown = json.loads(run("hosts", "--terraform", "out.json", "--json"))
    assert (shown["user"], shown["source"], shown["count"]) == ("ubuntu", "out.json", 2)


def test_hosts_refuses_hostile_output(run, tmp_path):
    (tmp_path / "out.json").write_text(outputs(user="-oProxyCommand=reboot"))
    refused = run("hosts", "--terraform", "out.json", code=2)
    assert refused.startswith("muster: out.json: this is not the output of a module")
    assert "is not a user" in refused
    run("hosts", "--terraform", "missing.json", code=2)
    run("hosts", "--terraform", "out.json", "-H", "n1", code=2)
    run("hosts", "--public", "-H", "n1", code=2)
