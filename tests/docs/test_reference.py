"""docs/reference lists everything that the binary and the sources know, and nothing else."""
import importlib.machinery
import importlib.util
import json
import re
import shutil
import subprocess

import jsonschema
import pytest
from tests.schemas import FOLDER
from tests.waiting import patient

BY_HAND = {"README.md"}
BY_DOXYGEN = {"cpp.md"}
# Words in the sources' string literals that look like environment variables but are none.
NO_VARIABLES = re.compile(r"(AF|SYS|IPC|MPI_THREAD|F8|BASH_FUNC|CONFIG|CAP)_\w+|PRETTY_NAME|ID_LIKE|MT_\d+|NCCL_(MAJOR|MINOR|PATCH)|\w*ABCDEFG\w*|CONTAINER_FLAGS|SHM_SIZE|NVIDIA_TF32")  # the last one is the beginning of a name
# Variables of the sanitised build, and names of macros.
NOT_OF_USERS = {"MUSTER_PROVOKE_FAULT", "MUSTER_SANITIZER_LOGS", "MUSTER_VERSION", "MUSTER_LIBDIR"}
WITHOUT_UNDERSCORE = ("HOME", "PATH", "SHELL", "TERM", "PWD", "RANK")


@pytest.fixture(scope="module")
def tool(root):
    """tools/write_reference as a module."""
    loader = importlib.machinery.SourceFileLoader("write_reference", str(root / "tools/write_reference"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def told(muster):
    return json.loads(subprocess.run([muster, "reference"], stdout=subprocess.PIPE, text=True, check=True, timeout=patient(30)).stdout)


def text_files(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.smoke
def test_the_pages_are_up_to_date(root, muster, tmp_path):
    """To update them, run: tools/write_reference build/release/bin/muster"""
    subprocess.run([root / "tools/write_reference", "--to", tmp_path, muster], check=True, timeout=patient(60))
    made, committed = text_files(tmp_path), text_files(root / "docs/reference")
    assert sorted(made) == sorted(committed.keys() - BY_HAND - BY_DOXYGEN)
    assert [name for name in made if made[name] != committed[name]] == [], "run: tools/write_reference MUSTER"


@pytest.mark.smoke
def test_every_command_and_flag_is_there(root, told):
    pages = text_files(root / "docs/reference/commands")
    assert len(told["commands"]) > 30
    for command in told["commands"][1:]:
        words = command["name"].split()
        text = pages[f"{words[1]}.md"]
        part = re.split(r"^#+ (?=muster)", text, flags=re.M)
        (section,) = [one for one in part if one.split("\n", 1)[0] == command["name"]]
        missing = [row["name"] for group in command["flags"] for row in group["rows"] if row["name"].replace("|", "&#124;") not in section]
        assert missing == [], command["name"]


@pytest.mark.smoke
def test_every_exit_code_is_there(root):
    page = (root / "docs/reference/exit-codes.md").read_text()
    codes = re.findall(r"constexpr int kExit\w+ = (\d+);", (root / "src/base/exit_code.hpp").read_text())
    assert len(codes) >= 9 and [code for code in codes if f"| `{code}` |" not in page] == []


def literals(root):
    """Yields (path, text) of the string literals in the sources of what runs on users' machines."""
    for folder in ("src", "include", "programs", "python"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".hpp", ".py") and not path.is_relative_to(root / "src/lab"):
                for line in path.read_text().splitlines():
                    for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line if path.suffix == ".py" else line.split(" // ")[0]):
                        yield path, text


def names_in_sources(root):
    known = "|".join(WITHOUT_UNDERSCORE)
    for path, text in literals(root):
        whole = re.fullmatch(rf"([A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]|{known})=?", text)
        found = {whole[1]} if whole and path.name != "passed_variables.cpp" else set()
        found |= set(re.findall(r"(?<!-D)\b(MUSTER_[A-Z_]*[A-Z])\b", text))
        yield from (name for name in found - NOT_OF_USERS if not NO_VARIABLES.fullmatch(name))


def listed_names(tool):
    return {name for _, rows in tool.VARIABLES.values() for names in rows for name in names.split(", ")}


@pytest.mark.smoke
def test_every_variable_is_there(root, tool):
    """Every variable that the sources name needs a line in tools/write_reference. A word that is no variable belongs in NO_VARIABLES."""
    listed, found = listed_names(tool), set(names_in_sources(root))
    assert {"MUSTER_RUN_ID", "MUSTER_EXEC", "XDG_STATE_HOME", "SLURM_JOB_ID", "MASTER_ADDR", "RANK"} <= found
    assert sorted(found - listed) == []


@pytest.mark.smoke
def test_no_variable_is_listed_that_nothing_knows(root, tool):
    sources = "\n".join(path.read_text() for folder in ("src", "include", "programs", "python") for path in (root / folder).rglob("*") if path.suffix in (".cpp", ".hpp", ".py"))
    assert [name for name in sorted(listed_names(tool)) if not re.search(rf"\b{name.removesuffix('*')}", sources)] == []


@pytest.mark.smoke
def test_passed_variables_are_there(root, told):
    page = (root / "docs/reference/environment.md").read_text()
    assert len(told["passed_variables"]) > 100 and [name for name in told["passed_variables"] if f"`{name}`" not in page] == []


@pytest.mark.smoke
def test_every_key_is_there(root, told):
    page = (root / "docs/reference/muster-yaml.md").read_text()
    keys = set(told["config"]["properties"])
    assert {"hosts", "environment", "profiles"} <= keys and keys >= set(told["config_flags"])
    assert [key for key in keys if f"| `{key}` |" not in page] == []


def titles():
    return {path.name: json.loads(path.read_text())["title"] for path in FOLDER.glob("*.schema.json")}


@pytest.mark.smoke
def test_every_command_with_json_has_a_schema(told):
    known = titles().values()
    have_json = [command["name"] for command in told["commands"] if any(re.match(r"--json\b", row["name"]) for group in command["flags"] for row in group["rows"])]
    assert {"muster facts", "muster why", "muster lab status", "muster setup"} <= set(have_json)
    assert [name for name in have_json if not any(title.startswith(name) and title.endswith("--json") for title in known)] == []


@pytest.mark.smoke
def test_every_json_file_is_promised_or_internal(root):
    page = (root / "docs/reference/json.md").read_text()
    names = {name for path, text in literals(root) for name in re.findall(r"(?:^|/|\{|\s)([a-z-]{3,}\.jsonl?)\b", text) if path.name not in ("hosts_command.cpp", "config_command.cpp")}
    inputs = {"checksums.json", "direct_url.json"}  # others write them
    assert {"record.json", "verdict.json", "metrics.jsonl"} <= names
    assert [name for name in sorted(names - inputs) if f"`{name}`" not in page] == []


def parts_of(schema):
    """Yields every object of a schema that has properties."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and "type" in schema:
            yield schema
        for value in schema.values():
            yield from parts_of(value)
    if isinstance(schema, list):
        for value in schema:
            yield from parts_of(value)


@pytest.mark.smoke
@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.schema.json")))
def test_schemas_are_schemas_and_say_what_each_field_is(name):
    schema = json.loads((FOLDER / name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema" and schema["title"]
    if name == "muster-yaml.schema.json":  # users write this file, so its schema may forbid unknown fields
        return
    parts = list(parts_of(schema))
    assert parts
    for part in parts:
        assert "additionalProperties" not in part, "new fields are allowed"
        assert [field for field, value in part["properties"].items() if not value.get("description")] == []
        assert set(part["required"]) <= set(part["properties"])


def test_the_page_of_the_cpp_api_is_up_to_date(root, tmp_path):
    """To update it, run: tools/write_api_reference"""
    subprocess.run([root / "tools/write_api_reference", "--to", tmp_path / "cpp.md"], check=True, timeout=patient(120))
    assert (tmp_path / "cpp.md").read_text() == (root / "docs/reference/cpp.md").read_text(), "run: tools/write_api_reference"


def test_a_public_name_without_a_comment_is_an_error(root, tmp_path):
    headers = tmp_path / "muster"
    shutil.copytree(root / "include/muster", headers)
    text = (headers / "job.hpp").read_text()
    (headers / "job.hpp").write_text(text.replace("namespace muster {\n", "namespace muster {\n\nint undocumented();\n", 1))
    done = subprocess.run([root / "tools/write_api_reference", "--to", tmp_path / "cpp.md", "--headers", headers], capture_output=True, text=True, timeout=patient(120))
    assert done.returncode == 1 and re.search(r"job\.hpp:\d+: error: Member undocumented\(\)", done.stderr), done.stderr
    assert not (tmp_path / "cpp.md").exists()
