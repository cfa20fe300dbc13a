"""Each recipe makes one failure happen on lab hosts, with real engines. Either `muster check` must find it beforehand, on the right
host, or `muster explain` must name it first, given the engine's real output.

CI runs a few of them. campaigns/failures runs all and writes docs/results/failures.md. The recipes are in tests/explain/recipes.
"""
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from tests.conftest import made_once
from tests.explain.recipes.recipe import all_recipes
from tests.run.launchers import MPI
from tests.run.slurm import Slurm
from tests.waiting import PATIENCE, patient

RECIPES = all_recipes()
CATALOGUE = {failure["id"]: failure for file in (Path(__file__).parents[2] / "src/catalogue/failures").glob("*.yaml")
             for failure in yaml.safe_load(file.read_text(encoding="utf-8"))}


def test_each_recipe_is_for_a_failure_of_the_catalogue():
    for recipe in RECIPES:
        unknown = {recipe.id, *recipe.also, *recipe.follows, *recipe.benign} - set(CATALOGUE)
        assert not unknown, f"{recipe.name}: {unknown}"
    for what in ("name", "folder"):
        assert [value for value, count in Counter(getattr(recipe, what) for recipe in RECIPES).items() if count > 1] == []


def write_files(folder):
    for recipe in RECIPES:
        own = folder / recipe.folder
        own.mkdir()
        for name, content in (recipe.files or {}).items():
            (own / name).parent.mkdir(parents=True, exist_ok=True)
            (own / name).write_text(recipe.filled(content, folder.parent))
            if content.startswith("#!"):
                (own / name).chmod(0o755)


def compile_mpi_programs(folder, mpis):
    for mpi in mpis:
        subprocess.run([MPI[mpi] / "bin/mpicxx", "-o", folder / mpi, Path(__file__).with_name("recipes") / "mpi_program.cxx"], check=True,
                       timeout=patient(60), env=os.environ | {"I_MPI_ROOT": str(MPI[mpi])})


@pytest.fixture(scope="session")
def shared(request, shared_folder):
    """Returns a folder with the recipes' files, and with the MPI program for each MPI that a selected recipe needs. Labs must start after it
    exists."""
    recipes = [item.callspec.params["recipe"] for item in request.session.items if "recipe" in getattr(item, "fixturenames", ())]
    mpis = sorted({recipe.mpi for recipe in recipes if "PROGRAM" in recipe.command})
    made_once(shared_folder / "recipes", write_files)
    made_once(shared_folder / "mpi-programs", lambda folder: compile_mpi_programs(folder, mpis))
    return shared_folder


@pytest.fixture(scope="module")
def start_lab(shared, tmp_path_factory):
    """Returns start_lab(up, "hosts=3 nics=2"), which returns a Lab whose hosts accept the launcher's user."""
    def start(up, words):
        flags = dict(word.split("=", 1) for word in words.split())
        folder = None
        if flags.pop("slurm", None):
            folder = tmp_path_factory.mktemp("slurm")
            folder.chmod(0o1777)
            flags["share"] = folder
        lab = up(**flags)
        lab.open_doors()
        if folder:
            Slurm(lab, folder)
        return lab

    return start


@pytest.fixture(scope="module")
def labs(module_lab_up, start_lab):
    """Returns labs(flags), which returns the lab with these flags and starts it when the first recipe needs it."""
    started = {}

    def get(words):
        if words not in started:
            started[words] = start_lab(module_lab_up, words)
        return started[words]

    return get


def take(recipe, steps, lab, shared):
    for step in steps:
        if step.words:
            lab.command(*step.words)
        for host in step.hosts:
            lab.exec(host, "sh", "-euc", recipe.filled(step.line, shared), root=True, check=True)


@contextmanager
def made(recipe, lab, shared):
    try:
        take(recipe, recipe.make, lab, shared)
        yield
    finally:
        if not recipe.own_lab:
            take(recipe, recipe.undo, lab, shared)


def run(recipe, lab, shared):
    """Runs the command and returns its output, both streams together, like a log file of the launcher's user."""
    command = recipe.filled(recipe.command, shared)
    if PATIENCE != 1:  # hosts of a busy machine are slow, not dead
        command = re.sub(r"\bmuster (run|check) (?!.*--answer-within)", r"muster \1 --answer-within 45 ", command)
    within = int(patient(recipe.within))
    lab.exec("launcher", "env", f"PATH={recipe.path}", "timeout", "-k", "5", str(within), "bash", "-c", f"cd; rm -f log; {{ {command}\n}} > log 2>&1",
             timeout=recipe.within + 10)
    return lab.shell("launcher", "cat log")


def is_found(recipe, log):
    """Checks that muster found this failure and no other. A finding about memlock does not count on imitated RDMA hosts, because the container that
    runs the tests may be unable to raise limits."""
    findings = [json.loads(line) for line in log.splitlines()]
    if "like=" in recipe.lab:
        findings = [one for one in findings if one["id"] != "rdma-memlock" or recipe.id == "rdma-memlock"]
    assert {one["id"] for one in findings} == {recipe.id, *recipe.also}, findings
    found = [one for one in findings if one["id"] == recipe.id]
    assert recipe.hosts is None or {host for one in found for host in one["hosts"]} == set(recipe.hosts), found
    assert all(re.search(recipe.says, one["what"] + "\n" + one["fix"]) for one in found), found


def is_named(recipe, lab, log):
    words = "log" if not recipe.explains else recipe.explains
    if words == "RUN":
        words = re.search(r"muster: run (\S+):", log)[1]
    explained = lab.exec("launcher", "muster", "explain", words, check=True).stdout
    print(f"--- what the engine printed:\n{log}\n--- muster explain:\n{explained}")
    said = json.loads(lab.exec("launcher", "muster", "explain", "--json", words, check=True).stdout)
    causes, consequences = said["causes"], said["consequences"]
    named = [one["id"] for one in causes + consequences]
    assert named and named[0] == recipe.id, f"named: {named}"
    assert set(recipe.also) <= set(named) and set(recipe.follows) <= {one["id"] for one in consequences}, f"named: {named}"
    for id in recipe.benign:
        assert any(re.search(pattern, line) for pattern in CATALOGUE[id]["patterns"] for line in log.splitlines()), f"the log does not show {id}"
        assert id not in named
    first = (causes + consequences)[0]
    assert recipe.hosts is None or tuple(first["hosts"]) == recipe.hosts, first
    # An engine may end a rank before that rank prints the same as the others.
    assert recipe.ranks is None or first["ranks"] and set(first["ranks"]) <= set(recipe.ranks), first
    assert re.search(recipe.says, "\n".join([first["title"], *first["fix"]])), first


@pytest.mark.lab
@pytest.mark.parametrize("recipe", [pytest.param(one, id=one.name, marks=[] if one.ci else pytest.mark.campaign) for one in RECIPES])
def test_recipe(recipe, request, labs, start_lab, shared, record_property):
    lab = start_lab(request.getfixturevalue("lab_up"), recipe.lab) if recipe.own_lab else labs(recipe.lab)
    with made(recipe, lab, shared):
        log = run(recipe, lab, shared)
        if recipe.is_check:
            is_found(recipe, log)
        else:
            is_named(recipe, lab, log)
    record_property("found before" if recipe.is_check else "named after", recipe.id)
    for id in recipe.follows:
        record_property("named as a consequence", id)
    for id in recipe.benign:
        record_property("not blamed", id)
