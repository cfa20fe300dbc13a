"""`muster train` on three hosts with two ranks each: it learns, under MPI and under torchrun."""
import json
import re

import pytest
from tests.run.conftest import Cluster
from tests.run.launchers import ACTIVATE_TORCH, LAUNCHERS
from tests.staging import staged
from tests.train.conftest import Output
from tests.waiting import until

pytestmark = pytest.mark.lab
USED = [launcher for launcher in LAUNCHERS if launcher.name in ("openmpi5", "torchrun")]


@pytest.fixture(scope="module")
def programs(build, muster, trainer):
    """muster, with muster-train next to it and libmuster, in a folder that every host of a later lab sees."""
    with staged(build, muster, trainer) as folder:
        yield folder


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    folder.chmod(0o1777)
    return folder


@pytest.fixture(scope="module")
def hosts(module_lab_up, programs, digits, shared):
    return Cluster(module_lab_up(hosts=3, nic_names="eth0,ens5,eno1", share=shared))


def train(hosts, programs, launcher, *words):
    """Starts muster train WORDS on all hosts, with two ranks each."""
    activate = ["--activate", ACTIVATE_TORCH] if launcher.name == "torchrun" else []
    return hosts.launch([str(programs / "muster"), "train", "mnist", "-H", hosts.all, "--nproc_per_node", "2", "--engine", launcher.engine, *activate,
                         *map(str, words)], launcher)


def learn(launcher, hosts, programs, digits, folder, epochs):
    run = train(hosts, programs, launcher, "--dataset_dir", digits / "mnist", "--output_dir", folder, "--epochs", epochs, "--batch-size", "60",
                "--optimizer", "adamw", "--lr", "0.01", "--augment", "--save-model")
    assert run.end(300) == 0, run.said()
    run.has_nothing_to_explain()
    output = Output(folder)
    assert output.result["ranks"] == 6 and output.result["count"] == 1000
    assert any("backend mpi" in line if launcher.mpi else "backend gloo" in line for line in run.out), run.said()
    assert not any("do not share" in line for line in run.out), run.said()
    assert (folder / "model.safetensors").stat().st_size > 4_000_000
    return output.result["accuracy"]


def test_it_learns_on_three_hosts(hosts, programs, digits, shared):
    """The model is much better than guessing, which would be right one time in ten."""
    assert learn(USED[1], hosts, programs, digits, shared / "learnt", 2) > 0.5


@pytest.mark.campaign
@pytest.mark.parametrize("launcher", USED, ids=str)
def test_97_per_cent_on_three_hosts(launcher, hosts, programs, digits, shared):
    assert learn(launcher, hosts, programs, digits, shared / launcher.name, 7) >= 0.97


def test_the_command_is_shown(hosts, programs, digits):
    """The trainer gets its own flags, and the engine gets muster's."""
    shown = hosts.lab.exec("launcher", "env", f"PATH={USED[0].path}", str(programs / "muster"), "train", "mnist", "-H", hosts.all, "--dataset-dir",
                           str(digits / "mnist"), "--engine", "openmpi", "--epochs=2", "--no-augment", "--lr", "0.5", "--nproc-per-node", "2", "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert f"{programs}/muster-train mnist" in shown.stdout, shown.stdout
    words = shown.stdout.split("muster-train mnist ", 1)[1]
    assert words.split() == ["--dataset-dir", str(digits / "mnist"), "--epochs", "2", "--lr", "0.5", "--no-augment"], words


def test_another_trainer(hosts, programs):
    """muster itself uses --trainer: the program that it names gets the other arguments."""
    run = hosts.launch([str(programs / "muster"), "train", "resnet18", "-H", "n2", "--trainer", "/bin/echo", "--dataset-dir", "/data", "--threads", "2"], USED[0])
    assert run.end(60) == 0 and "[n2:0] resnet18 --dataset-dir /data" in run.out, run.said()


def test_why_knows_the_collectives(hosts, programs, digits):
    """`muster why` says in which collective a job advances. When a rank is stopped, the others' own MPI backend records show in
    which collective they wait for it."""
    run = train(hosts, programs, USED[0], "--dataset-dir", digits / "mnist", "--output-dir", "/tmp/asked", "--epochs", "100000", "--batch-size", "60")
    run.wait_for("epoch", within=120)

    def verdict(kind):
        asked = hosts.muster("why", "--json", run.id)
        said = json.loads(asked.stdout) if asked.returncode == 0 else {}
        return said if said.get("kind") == kind else None

    assert re.match(r"the job advances: \w+ #\d+ -> #\d+ in ", until("progress", lambda: verdict("progress"), 30)["headline"])
    program = json.loads(hosts.lab.shell("n2", f"head -n 1 /tmp/muster-{hosts.lab.uid}/runs/{run.id}/rank.3.jsonl"))["program"]["pid"]
    hosts.lab.shell("n2", f"kill -STOP {program}")

    def told():
        said = verdict("stopped")
        return said if said and re.search(r"\d ranks? ha(s|ve) waited for it in \w+ #\d+ for ", said["headline"]) else None

    assert until("the verdict", told, 30)["ranks"] == [3]
    hosts.lab.shell("n2", f"kill -CONT {program}")
    assert until("progress", lambda: verdict("progress"), 30)
    assert hosts.muster("stop", run.id).returncode == 0
    run.end(60)


def test_results_stay_where_folders_are_not_shared(hosts, programs, digits):
    run = train(hosts, programs, USED[0], "--dataset-dir", digits / "mnist", "--output-dir", "/tmp/trained", "--epochs", "1", "--max-steps", "2")
    assert run.end(120) == 0, run.said()
    assert any("on n1 only, because the hosts do not share this directory" in line for line in run.out), run.said()
    assert json.loads(hosts.lab.shell("n1", "cat /tmp/trained/result.json"))["steps"] == 2
    assert hosts.lab.exec("n2", "cat", "/tmp/trained/result.json").returncode != 0


def test_checkpoints_of_other_hosts_are_named(hosts, programs, digits):
    """n1 has lost its directory, and n2 and n3 have a valid checkpoint. The trainer says where it is, and can continue from it or
    move it out of the way."""
    folder = "/tmp/left-behind"
    flags = ["--dataset-dir", digits / "mnist", "--output-dir", folder, "--epochs", "1"]
    assert train(hosts, programs, USED[0], *flags, "--batch-size", "60", "--max-steps", "2").end(120) == 0
    hosts.lab.shell("n1", f"rm -rf {folder}")
    refused = train(hosts, programs, USED[0], *flags, "--batch-size", "60", "--resume", "never")
    assert refused.end(120) == 1, refused.said()
    assert f"there is a checkpoint of step 2 in {folder}/checkpoints on n2, n3; pass another --output-dir, or --resume fresh" in refused.said()
    assert hosts.lab.shell("n1", f"ls {folder}/checkpoints") == "", "it was not copied to n1"
    went_on = train(hosts, programs, USED[0], *flags, "--batch-size", "60", "--max-steps", "3")
    assert went_on.end(120) == 0, went_on.said()
    assert f"this checkpoint was on n2, n3 and not on n1, in {folder}/checkpoints; to start from the beginning instead, pass --resume fresh" in went_on.said()
    fresh = train(hosts, programs, USED[0], *flags, "--batch-size", "30", "--max-steps", "1", "--resume", "fresh")
    assert fresh.end(120) == 0, fresh.said()
    for host in ("n1", "n2", "n3"):
        assert f"{host}: {folder}/checkpoints/set-aside-1" in fresh.said(), fresh.said()
        assert hosts.lab.shell(host, f"ls {folder}/checkpoints").split() == ["set-aside-1", "step-000000000001"]


@pytest.mark.parametrize("words, said", [(["mnist"], "--dataset-dir is missing"), (["--epochs", "3", "mnist"], "the model must come right after"),
                                         (["vgg", "--dataset-dir", "/data"], "vgg is not one of"), (["mnist", "--dataset-dir", "/d", "--", "true"], "takes no program")])
def test_lines_that_make_no_sense_are_refused(words, said, hosts, programs):
    done = hosts.lab.exec("launcher", str(programs / "muster"), "train", *words)
    assert done.returncode == 2 and said in done.stdout + done.stderr, done
