"""The guide to pods. Its commands, taken from its text, write objects that pass the schemas, and muster prints what the guide shows.
tests/emit/test_podman.py runs the parts that need containers, and tests/bench/test_pods.py checks the table."""
import subprocess

import pytest
from tests.docs.pages import take
from tests.emit.test_k8s import validate
from tests.waiting import patient

GUIDE = "docs/guides/pods.md"
PI, PI_OBJECT = take(GUIDE, "muster emit k8s --name pi "), take(GUIDE, "# Written by muster emit k8s")
LOOK, FINDING = take(GUIDE, "muster emit k8s --name look "), take(GUIDE, "ERROR ")
BANDWIDTH, TABLE = take(GUIDE, "muster emit k8s --name bandwidth "), take(GUIDE, "All-reduce of the largest size")
TRAIN, TRAIN_JOB = take(GUIDE, "muster emit k8s --name mnist "), take(GUIDE, "muster emit k8s --kind trainjob ")
REFUSED, *REFUSAL = take(GUIDE, "$ muster emit k8s ")
PI_SAYS = take(GUIDE, "muster: waiting for the name of the first pod")


@pytest.fixture
def type_in(muster, tmp_path):
    """Returns type_in(lines), which runs lines of the guide in a shell, in a folder that is empty at first."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/muster").symlink_to(muster)

    def run(lines, code=0):
        environment = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
        done = subprocess.run(["sh", "-c", "\n".join(lines)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=patient(30))
        assert done.returncode == code, done
        return done

    run.folder = tmp_path
    return run


def test_the_object_is_the_one_that_is_shown(type_in):
    type_in(PI)
    assert (type_in.folder / "pi.yaml").read_text().splitlines() == PI_OBJECT


def test_objects_pass_the_schemas(type_in):
    for lines in (PI, LOOK, BANDWIDTH, TRAIN, TRAIN_JOB):
        type_in(lines)
    written = sorted(type_in.folder.glob("*.yaml"))
    assert [path.stem for path in written] == ["bandwidth", "look", "mnist", "pi", "trainjob"]
    assert validate(*[path.read_text() for path in written]) == ["JobSet"] * 4 + ["TrainJob"]


def test_the_refusal_is_the_one_that_is_shown(type_in):
    assert type_in([REFUSED.removeprefix("$ ")], code=2).stderr.splitlines() == REFUSAL


@pytest.mark.lab
def test_the_finding_is_the_one_that_is_shown(lab_up):
    lab = lab_up(hosts=1)
    lab.command("break", "n1", "fake-rdma")
    told = ["PET_NNODES=2", "PET_NODE_RANK=0", "PET_MASTER_ADDR=127.0.0.1", "PET_MASTER_PORT=29403", "PATH=/opt/muster-deps/torch/bin:/usr/bin:/bin"]
    found = lab.exec("n1", "prlimit", "--memlock=65536:65536", "env", *told, lab.binary_on_hosts, "check")
    assert "\n".join(FINDING) in found.stdout, found.stdout
