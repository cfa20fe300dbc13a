"""The blocks of docs/config.md, taken from its text."""
import json
import subprocess

import pytest
from tests.docs.pages import take
from tests.run.launchers import SYSTEM_PATH
from tests.waiting import patient

DESCRIBED = take("docs/config.md", "hosts: ")
CONFIG, *CONFIG_SAYS = take("docs/config.md", "$ muster config -P small ")
VARIABLES = take("docs/config.md", "environment:")
SCHEMA = take("docs/config.md", "muster config --schema ")


@pytest.fixture
def describe(muster, tmp_path):
    """Returns describe(lines, line), which writes the lines to muster.yaml, runs the line in the same folder and returns its output."""

    def run(lines, line):
        (tmp_path / "muster.yaml").write_text("\n".join(lines))
        env = {"PATH": f"{muster.parent}:{SYSTEM_PATH}", "HOME": str(tmp_path), "WANDB_API_KEY": "hush", "HF_TOKEN": "hush"}
        done = subprocess.run(["sh", "-c", line.removeprefix("$ ")], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=patient(30))
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_what_config_says(describe, tmp_path):
    said = describe(DESCRIBED, CONFIG).splitlines()
    assert said[:len(CONFIG_SAYS)] == [line.replace("/home/dev/job", str(tmp_path)) for line in CONFIG_SAYS]


def test_the_two_ways_to_set_variables(describe, tmp_path):
    (tmp_path / "job.env").write_text("# more\nSEED='7'\n")
    assert list(json.loads(describe(VARIABLES, "muster config --json"))["variables"]) == ["HF_TOKEN", "NCCL_DEBUG", "SEED"]
    assert list(json.loads(describe(["environment: [NCCL_DEBUG=INFO, HF_TOKEN]"], "muster config --json"))["variables"]) == ["HF_TOKEN", "NCCL_DEBUG"]


def test_the_schema_for_editors(describe, tmp_path):
    describe(DESCRIBED, "\n".join(SCHEMA))
    assert "ranks_per_host" in json.loads((tmp_path / "muster.schema.json").read_text())["properties"]
    first, *rest = (tmp_path / "muster.yaml").read_text().splitlines()
    assert first == "# yaml-language-server: $schema=muster.schema.json" and rest == DESCRIBED
    describe([first, *rest], "muster config")
