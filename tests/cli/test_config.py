"""muster.yaml as the description of a job: where muster finds it, which owners it accepts, what `muster config` shows, and its
schema."""
import itertools
import json
import os
import re
import resource
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.schemas import described
from tests.waiting import patient

pytestmark = pytest.mark.smoke

PROJECT = """\
hosts: n[1-2]:4
ranks_per_host: 4
engine: torchrun
activate: source ~/venv/bin/activate
restarts: 2
environment:
  WANDB_PROJECT: vision
  HF_TOKEN:
env_file: job.env
profiles:
  big:
    hosts: n[1-16]
    ranks_per_host: gpu
    environment: {NCCL_DEBUG: INFO}
  here: {hosts: localhost, sync: true}
"""


class Project:
    """A directory with a muster.yaml, and a subdirectory."""

    def __init__(self, muster, folder):
        self.muster, self.folder = muster, folder
        self.below = folder / "src/models"
        self.below.mkdir(parents=True)
        folder.chmod(0o755)
        self.write(PROJECT)
        self.write("WANDB_PROJECT=other\nSEED=7\n", "job.env")

    def write(self, text, name="muster.yaml"):
        (self.folder / name).write_text(text)
        return self.folder / name

    def run(self, *words, where=None, env=None, **options):
        own = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return subprocess.run([self.muster, *map(str, words)], cwd=where or self.folder, env={**own, "HF_TOKEN": "hush", **(env or {})},
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=patient(30), **options)

    def config(self, *words, **options):
        done = self.run("config", "--json", *words, **options)
        assert done.returncode == 0, done.stderr
        return described("config", json.loads(done.stdout))

    def values(self, *words, **options):
        return {name: one["value"] for name, one in self.config(*words, **options)["values"].items()}


@pytest.fixture
def project(muster, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(muster, folder)


def test_every_value_is_shown_with_its_origin(project):
    shown = project.config("-P", "big", "--engine", "openmpi", where=project.below)
    assert shown["file"] == str(project.folder / "muster.yaml") and shown["profiles"] == ["big", "here"]
    assert shown["values"] == {
        "hosts": {"value": "n[1-16]", "from": "../../muster.yaml:12 (profile big)"},
        "ranks_per_host": {"value": "gpu", "from": "../../muster.yaml:13 (profile big)"},
        "engine": {"value": "openmpi", "from": "--engine"},
        "activate": {"value": "source ~/venv/bin/activate", "from": "../../muster.yaml:4"},
        "restarts": {"value": "2", "from": "../../muster.yaml:5"}}
    assert shown["variables"] == {"HF_TOKEN": {"from": "../../muster.yaml:8"}, "NCCL_DEBUG": {"from": "../../muster.yaml:14 (profile big)"},
                                  "SEED": {"from": "../../job.env:2"}, "WANDB_PROJECT": {"from": "../../muster.yaml:7"}}
    assert {"ranks", "timeout", "sync"} <= set(shown["not_set"])


def test_the_text_says_the_same_and_no_value_of_a_variable(project):
    done = project.run("config", "-P", "big", "-x", "MINE=hush2", env={"NCCL_SOCKET_IFNAME": "ens5"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{project.folder}/muster.yaml, profile big (profiles: big, here)\n")
    assert re.search(r"^  hosts +n\[1-16\] +from muster\.yaml:12 \(profile big\)$", done.stdout, re.M)
    assert re.search(r"^  MINE +from -x$", done.stdout, re.M) and re.search(r"^  HF_TOKEN +from muster\.yaml:8$", done.stdout, re.M)
    assert "\nnot passed to other hosts without -x: NCCL_SOCKET_IFNAME\n" in done.stdout
    assert not re.search("hush|vision|INFO|ens5", done.stdout + done.stderr)


def test_flags_win_and_take_along_what_was_meant_for_what_they_replace(project):
    project.write("hosts: n[1-4]\nexclude: n2\nspares: n5\nranks: 3\nengine: openmpi\nengine_args: [--display, map]\nsync: true\n")
    assert project.values("-H", "m1,m2") == {"hosts": "m1,m2", "ranks": "3", "engine": "openmpi", "engine_args": "--display, map", "sync": "true"}
    assert project.values("--nproc-per-node", "2", "--engine", "torchrun").keys() == {"hosts", "exclude", "spares", "ranks_per_host", "engine", "sync"}
    assert project.values("-n", "2")["ranks"] == "2"
    assert project.config("--no-sync")["values"]["sync"] == {"value": "false", "from": "--no-sync"}


def test_all_variables_of_a_profile_win_over_the_file(project):
    """This holds whether the variables are in `environment` or in `env_file`."""
    project.write("environment: {A: 1, B: 1}\nenv_file: job.env\nprofiles:\n  big: {env_file: big.env, environment: {B: 3}}\n")
    project.write("A=2\nB=2\nSEED=8\n", "big.env")
    run = ["run", "-q", "-H", "localhost", "-n", "1"]
    assert project.run(*run, "sh", "-c", "echo $A $B $SEED").stdout == "[localhost:0] 1 1 7\n"
    assert project.run(*run, "-P", "big", "sh", "-c", "echo $A $B $SEED").stdout == "[localhost:0] 2 3 8\n"
    origins = {"A": "big.env:1", "B": "muster.yaml:4 (profile big)", "SEED": "big.env:3", "WANDB_PROJECT": "job.env:1"}
    assert project.config("-P", "big")["variables"] == {name: {"from": origin} for name, origin in origins.items()}


def test_output_and_on_end_of_the_file_and_of_a_profile(project):
    project.write("output: 1\non_end: cat > ended; echo told >&2\nprofiles:\n  quiet: {output: '0', on_end: touch quiet}\n")
    run = ["run", "-q", "-n", "2"]
    done = project.run(*run, "sh", "-c", "echo hello", where=project.below)
    assert done.stdout == "[localhost:1] hello\n" and "told\n" in done.stderr, done
    assert json.loads((project.below / "ended").read_text())["state"] == "ok"  # relative to where muster was started
    assert project.run(*run, "-P", "quiet", "sh", "-c", "echo hello").stdout == "[localhost:0] hello\n"
    assert (project.folder / "quiet").exists() and not (project.folder / "ended").exists()
    done = project.run(*run, "-P", "quiet", "--show", "all", "--on-end", "touch typed", "sh", "-c", "echo hello")
    assert sorted(done.stdout.splitlines()) == ["[localhost:0] hello", "[localhost:1] hello"] and (project.folder / "typed").exists()
    assert project.values("-P", "quiet") == {"output": "0", "on_end": "touch quiet"}


def test_paths_are_relative_to_the_file_or_to_the_home_directory(project, tmp_path):
    """Paths are relative to the file, not to the directory in which muster was started."""
    project.write("hostfile: hosts.txt\nenv_file: [job.env, ~/more.env]\n")
    project.write("n[1-2]\n", "hosts.txt")
    (tmp_path / "more.env").write_text("MORE=1\n")
    (project.below / "job.env").write_text("WRONG=1\n")
    home = {"HOME": str(tmp_path)}
    assert project.run("hosts", where=project.below, env=home).stdout == "n[1-2]\n"
    assert project.config(where=project.below, env=home)["variables"].keys() == {"WANDB_PROJECT", "SEED", "MORE"}


def test_without_hosts_the_job_runs_here_and_says_so(project):
    project.write("ranks: 2\n")
    done = project.run("run", "true", where=project.below)
    assert done.returncode == 0 and re.search(r"^muster: run \S+: 2 ranks on localhost, ", done.stderr, re.M), done.stderr
    pod = project.run("run", "--config", "muster.yaml", "true", env={"WORLD_SIZE": "2", "RANK": "0"})
    assert pod.returncode == 2 and "WORLD_SIZE=2 gives the number of pods" in pod.stderr, pod.stderr  # muster.yaml does not make a pod run alone either
    done = project.run("exec", "true", where=project.below)
    assert done.returncode == 2 and "../../muster.yaml: the file names no hosts" in done.stderr, done.stderr


@pytest.mark.parametrize("by_flag", [False, True], ids=["file", "flag"])
def test_variables_of_the_ranks_do_not_change_where_muster_looks(project, tmp_path, by_flag):
    home, wrong = tmp_path / "home", tmp_path / "wrong"
    for folder in (home, wrong):
        folder.mkdir()
    for name in ("mpirun", "mpiexec", "ssh"):
        (wrong / name).write_text("#!/bin/sh\necho the wrong $0 >&2\nexit 9\n")
        (wrong / name).chmod(0o755)
    values = {"PATH": f"{wrong}:{os.environ['PATH']}", "HOME": str(wrong), "XDG_STATE_HOME": str(wrong / "state")}
    project.write("ranks: 1\n" if by_flag else f"ranks: 1\nenvironment: {json.dumps(values)}\n")
    flags = [word for name, value in values.items() for word in ("-x", f"{name}={value}")] if by_flag else []
    done = project.run("run", "-q", *flags, "--", "/bin/sh", "-c", "echo $PATH; echo $HOME $XDG_STATE_HOME", env={"HOME": str(home)})
    assert (done.returncode, done.stdout) == (0, f"[localhost:0] {values['PATH']}\n[localhost:0] {wrong} {wrong}/state\n"), done.stderr
    assert (home / ".local/state/muster/runs").exists() and not (wrong / "state").exists() and not (wrong / ".local").exists()


def test_a_variable_without_a_value_has_that_of_your_environment(project, tmp_path):
    project.write("ranks: 1\nenvironment: {A: 1, B: 2}\n")
    done = project.run("run", "-q", "-x", "A", "-x", "B", "--", "sh", "-c", "echo $A $B", env={"HOME": str(tmp_path), "A": "typed"})
    assert done.stdout == "[localhost:0] typed 2\n", done.stderr


def test_very_many_variables_cost_little(project):
    """muster gets at most 10 s of CPU time. A quadratic implementation took 25 s."""
    project.write("environment:\n" + "".join(f"  V{i}: {i}\n" for i in range(60_000)))
    for words in (["config"], ["config", "--json"]):
        done = project.run(*words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (10, 10)))
        assert done.returncode == 0 and "V59999" in done.stdout, done


def test_again_reads_the_file_anew(project, tmp_path):
    home = {"HOME": str(tmp_path)}
    project.write("environment: {A: 1}\n")
    assert project.run("run", "-q", "sh", "-c", "echo $A; exit 3", env=home).stdout == "[localhost:0] 1\n"
    project.write("environment: {A: 2}\n")
    assert project.run("run", "-q", "--again", where=tmp_path, env=home).stdout == "[localhost:0] 2\n"


def test_again_is_refused_without_the_file_that_described_the_run(project, tmp_path):
    home = {"HOME": str(tmp_path)}
    project.write("ranks: 1\n")
    assert project.run("run", "-q", "sh", "-c", "exit 3", env=home, where=project.below).returncode == 3
    (project.folder / "muster.yaml").rename(tmp_path / "kept.yaml")
    refused = project.run("run", "--again", env=home)
    assert refused.returncode == 2 and f"{project.folder}/muster.yaml: the file that described the run is gone" in refused.stderr, refused.stderr
    (tmp_path / "muster.yaml").write_text("ranks: 1\n")
    refused = project.run("run", "--again", env=home)
    assert refused.returncode == 2 and f"{tmp_path}/muster.yaml would be read now" in refused.stderr, refused.stderr
    (tmp_path / "kept.yaml").rename(project.folder / "muster.yaml")
    assert project.run("run", "-q", "--again", env=home).returncode == 3


# Where muster.yaml is found, and who may own it.

def test_the_nearest_one_above_counts(project):
    (project.below.parent / "muster.yaml").write_text("hosts: near\n")
    assert project.values(where=project.below) == {"hosts": "near"}
    assert project.values("--config", "/dev/null", where=project.below) == {}
    assert project.run("hosts", where=project.below).stdout == "near\n"


def test_one_of_another_user_above_is_refused(project):
    """git treats another user's repository in the same way. Otherwise anyone who can write to a parent directory could run commands as us."""
    project.write(f"hosts: localhost\nactivate: touch {project.folder}/ran\non_end: touch {project.folder}/ran\n")
    for mode, owner, says in ((0o664, 0, "other users can change this file"), (0o644, 12345, "this file belongs to another user (uid 12345)")):
        (project.folder / "muster.yaml").chmod(mode)
        os.chown(project.folder / "muster.yaml", owner, -1)
        for words in (["check", "true"], ["run", "true"], ["config"], ["hosts"]):
            done = project.run(*words, where=project.below)
            assert done.returncode == 2 and f"../../muster.yaml: {says}" in done.stderr and "--config /dev/null" in done.stderr, done.stderr
    assert not (project.folder / "ran").exists()


def test_a_directory_in_which_everybody_can_write_is_passed_over(project):
    """Another user's /tmp/muster.yaml neither stops nor affects muster below /tmp."""
    os.chown(project.folder / "muster.yaml", 12345, -1)
    project.folder.chmod(0o1777)
    assert project.config(where=project.below)["file"] == ""
    assert project.run("config").returncode == 2  # in that directory itself, muster reports it


def test_a_link_that_another_user_could_have_made_is_not_followed(project):
    """With a link, another user could choose which of our own files muster reads."""
    (project.folder / "muster.yaml").rename(project.folder / "mine.yaml")
    (project.folder / "muster.yaml").symlink_to("mine.yaml")
    assert project.config(where=project.below)["values"]["engine"]["value"] == "torchrun"
    project.folder.chmod(0o775)
    os.chown(project.folder, 0, 12345)
    done = project.run("config", where=project.below)
    assert done.returncode == 2 and "this is a symbolic link in a directory that other users can change" in done.stderr
    assert project.config("--config", "../../muster.yaml", where=project.below)["values"]["engine"]["value"] == "torchrun"


def test_a_file_of_variables_that_others_can_change_is_refused(project):
    (project.folder / "job.env").chmod(0o666)
    done = project.run("config")
    assert done.returncode == 2 and "job.env: other users can change this file" in done.stderr


# Errors name their place in the file.

@pytest.mark.parametrize("text, says", [
    ("ranks: 0\n", "muster.yaml:1:8: ranks: 0 is not in the range 1 to 1000000"),
    ("hosts: a\nengine: mpirum\n", "muster.yaml:2:9: engine: mpirum is not one of "),
    ("timeout: soon\n", "muster.yaml:1:10: timeout: 'soon' is not a length of time"),
    ("nodes: many\n", "muster.yaml:1:8: nodes: 'many' is neither a number of hosts nor torchrun's MIN:MAX"),
    ("ranks: [1, 2]\n", "muster.yaml:1:1: 'ranks' takes one value, not a list"),
    ("max_restarts: 3\n", "muster.yaml:1:1: there is no key 'max_restarts'\n  hint: the key for --max-restarts is 'restarts'"),
    ("environment: [NOT_SET_ANYWHERE]\n", "muster.yaml:1:15: the variable NOT_SET_ANYWHERE is not set on this machine\n  hint: export NOT_SET_ANYWHERE first, or set it in an env_file"),
    ("hosts: a\nenv_file: none.env\n", "none.env: cannot open the file: No such file or directory\n  hint: muster.yaml:2 names this file"),
    ("output: some\n", "muster.yaml:1:9: output: 'some' is neither folded, all, first-per-host nor ranks"),
    ("show: all\n", "muster.yaml:1:1: there is no key 'show'\n  hint: the key for --show is 'output'"),
    ("profiles:\n  big: {hosts: 'a]'}\n", "muster.yaml:2:18: ']' without a '[' before it"),  # a profile that is not used
    ("profiles:\n  big: {ranks: x}\n", "muster.yaml:2:16: ranks: x is not in the range 1 to 1000000"),
])
def test_a_mistake_is_placed(project, text, says):
    project.write(text)
    done = project.run("config")
    assert done.returncode == 2 and says in done.stderr, done.stderr


def test_a_profile_needs_a_file(project, tmp_path):
    assert "-P big: there is no muster.yaml" in project.run("config", "-P", "big", where=tmp_path).stderr
    assert "there is no profile 'bug'\n  hint: did you mean 'big'?" in project.run("run", "-P", "bug", "true").stderr


# Variables that are passed without being named.

def test_harmless_variables_are_passed_and_others_only_by_name(project, tmp_path):
    env = {"NCCL_DEBUG": "INFO", "WANDB_PROJECT": "p", "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "HF_HOME": "/data", "CUDA_HOME": "/usr",
           "CUDA_VISIBLE_DEVICES": "0", "GLOO_SOCKET_IFNAME": "ens5", "WANDB_API_KEY": "hush", "HF_TOKEN": "hush", "NCCL_NEW_SETTING": "1", "TORCH_HOME": "/data"}
    shown = project.config(where=tmp_path, env=env)
    assert {"NCCL_DEBUG", "WANDB_PROJECT", "PYTORCH_CUDA_ALLOC_CONF"} == env.keys() & shown["variables"].keys()
    assert shown["not_passed"] == ["GLOO_SOCKET_IFNAME", "NCCL_NEW_SETTING"]
    named = project.config("-x", "HF_TOKEN", "-x", "GLOO_SOCKET_IFNAME", where=tmp_path, env=env)
    assert {"HF_TOKEN", "GLOO_SOCKET_IFNAME"} < named["variables"].keys() and named["not_passed"] == ["NCCL_NEW_SETTING"]


def test_the_page_lists_all_variables_that_are_passed(project, tmp_path):
    root = Path(__file__).parents[2]
    section = (root / "docs/config.md").read_text().split("\n## Variables that muster passes by itself\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and "`" in line]
    listed = set(itertools.chain.from_iterable(re.findall(r"`([A-Z0-9_]+)`", row) for row in rows))
    known = set(re.findall(r'^    "([A-Z0-9_]+)",$', (root / "src/cli/passed_variables.cpp").read_text(), re.M))
    assert listed == known and len(listed) > 100
    assert set(project.config(where=tmp_path, env=dict.fromkeys(listed, "1"))["variables"]) == listed


# The schema and the parser agree.

def accepts(schema, value, root):
    """Implements the part of JSON Schema that muster.yaml's schema uses."""
    types = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None), "object": dict, "array": list}

    def is_a(name):
        return isinstance(value, types[name]) and not (isinstance(value, bool) and name in ("integer", "number"))

    unknown = schema.keys() - {"$schema", "$ref", "$defs", "title", "description", "type", "enum", "anyOf", "not", "required", "minimum", "maximum", "minLength",
                               "pattern", "items", "minItems", "properties", "propertyNames", "additionalProperties", "minProperties"}
    assert not unknown, unknown
    if "$ref" in schema:
        return accepts(root["$defs"]["profile"], value, root)
    wanted = schema.get("type", [])
    good = not wanted or any(map(is_a, [wanted] if isinstance(wanted, str) else wanted))
    good = good and ("enum" not in schema or value in schema["enum"])
    good = good and ("anyOf" not in schema or any(accepts(one, value, root) for one in schema["anyOf"]))
    good = good and ("not" not in schema or not accepts(schema["not"], value, root))
    if isinstance(value, (int, float)) and good:
        return schema.get("minimum", value) <= value <= schema.get("maximum", value)
    if isinstance(value, str) and good:
        return len(value) >= schema.get("minLength", 0) and bool(re.search(schema.get("pattern", ""), value))
    if isinstance(value, list) and good:
        return len(value) >= schema.get("minItems", 0) and all(accepts(schema.get("items", {}), one, root) for one in value)
    if isinstance(value, dict) and good:
        known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        named = all(accepts(schema.get("propertyNames", {}), name, root) for name in value)
        return named and len(value) >= schema.get("minProperties", 0) and value.keys() >= set(schema.get("required", [])) and all(
            accepts(known[name], one, root) if name in known else others is not False and accepts(others, one, root) for name, one in value.items())
    return good


VALUES = {
    "hosts": ["n[1-2]", ["a", "b:2"], [], ""], "hostfile": [["a"], ""], "user": ["dev", ["dev"]], "port": [22, 0, 65536, "ssh"],
    "include": ["n1", ["n1", "n2"], []], "exclude": ["n1", []], "ranks": [1, 0, 1000001, "two", [1]], "ranks_per_host": [8, "gpu", "auto", 0, "tpu"],
    "nodes": [2, "1:2", 0, "1-2"], "threads": [4, 0], "bind_to": ["core", ""], "engine": ["torchrun", "slurm", "mpirun"],
    "engine_args": ["-a", ["-a", "-b"], []], "launcher": ["/usr/bin/mpirun", ["x"]], "slurm_args": [["-p", "x"], []], "activate": ["true", ""],
    "sync": [True, False, "sometimes"], "restarts": [0, 3, -1, "x"], "spares": ["n9"], "min_nodes": [1, 0], "timeout": [90, 0.5, "2h", "1h30m", "2d", "soon"],
    "stall_after": ["10m", "x"], "idle_after": ["10m", "x"], "output": ["folded", "all", "first-per-host", 0, 8, "0,8", "some", "0,", -1, [0, 8], ""],
    "log_limit": ["2G", "500 MiB", 1048576, 1000, "500K", "0G", "-1G", "much", ["2G"]], "on_end": ["cat > ended", "", ["cat"]], "env_file": ["job.env", [], ""],
    "environment": [{"A": 1, "B": None, "C": "x"}, ["A=1"], {"A-B": 1}, {"A": [1]}, {}, ["A B"]],
    "profiles": [{"a": {"ranks": 2}}, {"a": {"ranks": 0}}, {"a": {"profiles": {}}}, {"a b": {"ranks": 1}}, {"a": None}, []], "hots": ["a"],
}


def test_the_schema_agrees_with_the_parser(project):
    schema = json.loads(project.run("config", "--schema").stdout)
    assert VALUES.keys() >= schema["properties"].keys()
    outcomes = {True: 0, False: 0}
    for key, values in VALUES.items():
        for value in values:
            document = {key: value, **({"hosts": "n[1-9]"} if key in ("include", "exclude") else {})}
            project.write(yaml.safe_dump(document))
            done = project.run("config", env={"A": "1", "B": "1"})
            assert accepts(schema, yaml.safe_load(yaml.safe_dump(document)), schema) == (done.returncode == 0), (document, done.stderr)
            outcomes[done.returncode == 0] += 1
    assert min(outcomes.values()) > 30
    assert not accepts(schema, {"hosts": "a", "hostfile": "b"}, schema)
