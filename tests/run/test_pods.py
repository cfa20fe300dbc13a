"""In a pod: no ssh, no other host, and numbers that the platform gave."""
import pytest

pytestmark = pytest.mark.lab

PATH = "PATH=/opt/muster-deps/torch/bin:/usr/local/bin:/usr/bin:/bin"


@pytest.fixture(scope="module")
def pod(module_lab_up):
    """A host on which nothing was set up."""
    return module_lab_up(hosts=1)


def run(pod, variables, *words):
    return pod.exec("n1", "env", PATH, *variables, pod.binary_on_hosts, "run", *words, "--", "sh", "-c", "echo rank $RANK of $WORLD_SIZE")


@pytest.mark.parametrize("variables, words, said", [
    (["WORLD_SIZE=2", "RANK=0"], ["--nnodes", "3"], "you asked for --nnodes 3, but WORLD_SIZE=2 is the number of pods of this job"),
    (["WORLD_SIZE=2", "RANK=0"], ["-n", "7", "--nproc-per-node", "2"], "you asked for -n 7, but WORLD_SIZE=2 is the number of pods of this job, with 2 ranks each: 4"),
    (["PET_NNODES=4", "PET_NODE_RANK=1", "WORLD_SIZE=3", "RANK=1"], [], "PET_NNODES=4 contradicts WORLD_SIZE=3"),
], ids=["hosts", "ranks", "two-platforms"])
def test_what_contradicts_the_platform_is_refused_with_both_numbers(pod, variables, words, said):
    refused = run(pod, [*variables, "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29400"], *words)
    assert refused.returncode == 2, refused.stderr
    assert said in refused.stderr and refused.stdout == "", refused.stderr


def test_one_pod_by_torchruns_own_variables(pod):
    """And what could not be looked at is said."""
    done = run(pod, ["PET_NNODES=1", "PET_NODE_RANK=0", "PET_MASTER_ADDR=127.0.0.1", "PET_MASTER_PORT=29400", "PET_NPROC_PER_NODE=2"], "-v")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["[n1:0] rank 0 of 2", "[n1:1] rank 1 of 2"]
    assert "this is pod 0 of 1 (PET_NNODES)" in done.stderr
    assert "muster did not examine the other pods" in done.stderr
