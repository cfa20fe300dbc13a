"""muster in a pod: no ssh, no other hosts, and numbers set by the platform."""
import pytest
from tests.run.conftest import Run

pytestmark = pytest.mark.lab

PATH = "PATH=/opt/muster-deps/torch/bin:/usr/local/bin:/usr/bin:/bin"


@pytest.fixture(scope="module")
def pod(module_lab_up):
    """A host without any setup."""
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
    """With -v, muster also says what it could not check."""
    done = run(pod, ["PET_NNODES=1", "PET_NODE_RANK=0", "PET_MASTER_ADDR=127.0.0.1", "PET_MASTER_PORT=29400", "PET_NPROC_PER_NODE=2"], "-v")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["[n1:0] rank 0 of 2", "[n1:1] rank 1 of 2"]
    assert "this is pod 0 of 1 (PET_NNODES)" in done.stderr
    assert ": 2 ranks in 1 pod (this is pod 0, n1), " in done.stderr
    assert "muster did not examine the other pods" in done.stderr


def test_a_name_that_comes_late_is_waited_for(pod):
    """Two pods, here on one host, wait for the name of the first one, which appears late, as in a cluster's DNS. Then both run."""
    told = ["WORLD_SIZE=2", "MASTER_ADDR=first-pod.job", "MASTER_PORT=29401"]
    program = [pod.binary_on_hosts, "run", "--", "sh", "-c", "echo rank $RANK of $WORLD_SIZE"]
    pods = [Run(pod, ["env", PATH, *told, f"RANK={rank}", *map(str, program)], host="n1") for rank in (0, 1)]
    for one in pods:
        one.wait_for("muster: waiting for the name of the first pod, first-pod.job, to resolve", lines=one.err)
    pod.shell("n1", "echo \"$(hostname -I | cut -d' ' -f1) first-pod.job\" >> /etc/hosts", root=True)
    assert [one.end(120) for one in pods] == [0, 0], "\n".join(one.said() for one in pods)
    assert [one.out for one in pods] == [["[n1:0] rank 0 of 2"], ["[n1:1] rank 1 of 2"]]


def test_a_name_that_never_comes_is_an_error(pod):
    """`check` does not wait long, and Ctrl-C ends the wait of `run`."""
    told = ["WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=no-pod.job", "MASTER_PORT=29402"]
    checked = pod.exec("n1", "env", PATH, *told, pod.binary_on_hosts, "check", "--answer-within", "1")
    assert checked.returncode == 4, checked
    assert "no-pod.job, the name of the job's first pod (MASTER_ADDR), does not resolve in this pod" in checked.stderr
    waiting = Run(pod, ["env", PATH, *told, "sh", "-c", f"echo $$; exec {pod.binary_on_hosts} run -- true"], host="n1")
    waiting.wait_for("waiting for the name of the first pod", lines=waiting.err)
    pod.shell("n1", f"kill -INT {waiting.wait_for('^[0-9]+$')[0][0]}")
    assert waiting.end() == 130, waiting.said()


def test_locked_memory_is_checked_in_a_pod(pod):
    """The finding appears although the pod sees no other pod. With the capability, the limit does not matter."""
    pod.command("break", "n1", "fake-rdma")
    told = ["PET_NNODES=2", "PET_NODE_RANK=0", "PET_MASTER_ADDR=127.0.0.1", "PET_MASTER_PORT=29403"]
    words = ["prlimit", "--memlock=65536:65536", "env", PATH, *told, str(pod.binary_on_hosts), "check"]
    found = pod.exec("n1", *words)
    assert found.returncode == 123 and "[rdma-memlock]" in found.stdout, found
    assert "ulimit -l is 64 KiB" in found.stdout and "capability IPC_LOCK" in found.stdout
    assert "[rdma-memlock]" not in pod.exec("n1", *words, root=True).stdout  # here root has all capabilities
