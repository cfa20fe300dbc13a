"""`muster emit k8s`: its output passes the schemas of Kubernetes, JobSet and the Trainer, and it rejects what they would reject."""
import os
import subprocess
from pathlib import Path

from tests.waiting import patient

# A separate environment: tools/requirements/schemas.txt.
SCHEMAS = Path(os.environ.get("MUSTER_DEPS", "/opt/muster-deps")) / "schemas/bin/python"
BASE = ["--name", "train", "--image", "example.org/team/train:1"]
PROGRAM = ["--", "python3", "train.py"]
EVERYTHING = ["--namespace", "team", "--queue", "research", "-N", "4", "--gpus", "8", "--rdma", "rdma/rdma=1", "--rdma", "vpc.amazonaws.com/efa=4",
              "--cpu", "32", "--memory", "256Gi", "--shm", "64Gi", "--network", "kube-system/roce@net1", "--interface", "net1",
              "--pvc", "scratch:/scratch", "--pvc", "data:/data", "-x", "NCCL_DEBUG=INFO", "-x", "A=$(B) $$ 'quoted' \"twice\" yes: no"]


def emit(muster, *words):
    return subprocess.run([muster, "emit", "k8s", *words], capture_output=True, text=True, timeout=patient(30))


def validate(*texts):
    """Returns the kind of each object, or why the schemas reject it."""
    assert SCHEMAS.exists(), f"{SCHEMAS} is missing; run tools/install_deps"
    done = subprocess.run([SCHEMAS, Path(__file__).with_name("validate.py")], input="\n---\n".join(texts), capture_output=True, text=True, timeout=patient(120))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_objects_pass_the_schemas(muster):
    kinds = [
        [],
        ["--max-restarts", "3", "--pull-policy", "Never", "--master-port", "23456", *EVERYTHING],
        ["--kind", "trainjob"],
        ["--kind", "trainjob", "--runtime", "torch-tune", *EVERYTHING],
    ]
    written = [emit(muster, *BASE, *words, *PROGRAM) for words in kinds]
    assert [done.returncode for done in written] == [0] * 4, written
    assert validate(*[done.stdout for done in written]) == ["JobSet", "JobSet", "TrainJob", "TrainJob"]


def test_the_schemas_find_mistakes(muster):
    """The schemas refuse each of these mistakes; otherwise the test above would prove nothing."""
    text = emit(muster, *BASE, "--shm", "1Gi", *PROGRAM).stdout
    mistakes = [("mountPath", "mountpath"), ("completions: 1", "completions: one"), ("replicatedJobs", "replicatedjobs"), ("emptyDir", "emptydir")]
    assert all(right in text for right, _ in mistakes)
    for said, (_, wrong) in zip(validate(*[text.replace(*mistake) for mistake in mistakes]), mistakes, strict=True):
        assert said.startswith("refused: "), f"{wrong} passes"


# Flags that are added to BASE, whose flags of the same name are dropped, and the reason for the rejection.
WRONG = [
    (["--name", "My_Job"], "cannot use --name 'My_Job': it has the character 'M'; Kubernetes allows a-z, 0-9 and '-'"),
    (["--name", "7b"], "cannot use --name '7b': it begins with a digit; it also names a service, and Kubernetes wants a letter there"),
    (["--name", "a" * 60], "which is longer than 63 characters; take a name of at most 48"),
    (["--name", "train-"], "cannot use --name 'train-': it begins or ends with '-'"),
    (["--namespace", "my.team"], "cannot use --namespace 'my.team': it has the character '.'"),
    (["--image", "Team/Train"], "cannot use --image 'Team/Train': 'Team' has capital letters, which only its tag may have"),
    (["--image", "train:"], "cannot use --image 'train:': nothing follows its ':'"),
    (["--queue", "Research"], "cannot use --queue 'Research': it has the character 'R'"),
    (["--memory", "16GB"], "cannot use --memory '16GB': 'GB' is no unit of Kubernetes; write 16Gi"),
    (["--memory", "400m"], "cannot use --memory '400m': 'm' means thousandths of a byte; write M or Mi for megabytes"),
    (["--cpu", "4cores"], "cannot use --cpu '4cores': 'cores' is no unit of CPUs; write 4, or 500m for half a CPU"),
    (["--shm=-1Gi"], "cannot use --shm '-1Gi': it is negative"),
    (["--shm", "16Gi", "--memory", "8Gi"], "cannot use --shm '16Gi': what a pod writes to /dev/shm counts as its memory, and --memory is only 8Gi"),
    (["--gpus", "1", "--gpu-resource", "gpu"], "cannot use --gpu-resource 'gpu': it has no '/'; resources of devices are named DOMAIN/NAME, such as nvidia.com/gpu"),
    (["--rdma", "rdma/rdma=0.5"], "cannot use --rdma 'rdma/rdma=0.5': '0.5' is not a whole number from 1 on, and devices cannot be divided"),
    (["--rdma", "kubernetes.io/rdma=1"], "cannot use --rdma 'kubernetes.io/rdma=1': kubernetes.io is reserved for Kubernetes itself"),
    (["--network", "kube-system/"], "cannot use --network 'kube-system/': it is empty"),
    (["--pvc", "scratch:data"], "cannot use --pvc 'scratch:data': the path in the container does not begin with '/'"),
    (["--pvc", "a:/data", "--pvc", "b:/data"], "cannot use --pvc 'b:/data': /data is mounted twice"),
    (["-x", "MY-VAR=1"], "cannot use -x 'MY-VAR': names of variables have letters, digits and '_', and begin with no digit"),
    (["-x", "WORLD_SIZE=8"], "cannot use -x 'WORLD_SIZE': it tells muster which pod it is in, and is set for each pod"),
    (["--kind", "trainjob", "--max-restarts", "3"], "cannot use --max-restarts '3': a TrainJob is restarted as its runtime says"),
]


def test_wrong_ones_are_refused_with_the_reason(muster):
    assert len(WRONG) >= 15
    for words, reason in WRONG:
        base = [word for i, word in enumerate(BASE) if BASE[i - i % 2] not in words]  # drops the flags of BASE that `words` has too
        done = emit(muster, *base, *words, *PROGRAM)
        assert (done.returncode, done.stdout) == (2, ""), (words, done)
        assert reason in done.stderr, (words, done.stderr)


def test_a_program_is_needed(muster):
    done = emit(muster, *BASE)
    assert done.returncode == 2 and "there is no program to run in the pods" in done.stderr, done
