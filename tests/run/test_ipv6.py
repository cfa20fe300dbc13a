"""Hosts without IPv4: the engines start ranks, and the ranks connect."""
import json
from pathlib import Path

import pytest
from tests.run.conftest import Cluster
from tests.run.launchers import ACTIVATE_TORCH, LAUNCHERS, SYSTEM_PATH
from tests.run.slurm import Slurm
from tests.schemas import described
from tests.staging import staged
from tests.train.digits import write as write_digits

pytestmark = pytest.mark.lab
BY_NAME = {launcher.name: launcher for launcher in LAUNCHERS}
NETWORK = "fd00:198:18::/64"


def some(*names, in_ci=()):
    return pytest.mark.parametrize("launcher", [pytest.param(BY_NAME[name], marks=() if name in in_ci else pytest.mark.campaign) for name in names], ids=str)


@pytest.fixture(scope="module")
def built(muster):
    """muster, and next to it the programs of the training side."""
    build = muster.parent.parent
    script = Path(__file__).with_name("programs") / "train_ddp.py"
    with staged(build, muster, build / "bin/muster-bench", build / "bin/muster-train", build / "examples/toy_ddp", script) as folder:
        yield folder


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    folder.chmod(0o1777)
    return folder


@pytest.fixture(scope="module")
def hosts(module_lab_up, built, shared):
    return Cluster(module_lab_up(hosts=2, ip="6", nic_names="eth0,ens5", share=shared))


def passes(run, pattern, within=120):
    """Checks that both ranks report the same result, over the IPv6 network."""
    assert run.end(within) == 0, run.said()
    assert f"network {NETWORK}, master [fd00:198:18::1:1]:" in run.errors, run.said()
    said = [line.split("] ", 1)[1] for line in run.out if pattern in line]
    assert len(said) == 2 and len({line.split(pattern)[1] for line in said}) == 1, run.said()


def test_check_finds_nothing(hosts):
    done = hosts.muster("check", "-H", hosts.all, engine=BY_NAME["openmpi5"])
    assert done.returncode == 0 and "1 note" in done.stdout, done.stdout + done.stderr  # the note says that interface names differ
    assert "warning" not in done.stdout
    assert f"subnet {NETWORK}: the only network that all 2 hosts share" in done.stdout
    assert "master address fd00:198:18::1:1" in done.stdout


@some("torchrun", "openmpi5", "openmpi4", "intel", in_ci=("openmpi4",))
def test_python_ddp(hosts, built, launcher):
    passes(launcher.start(hosts, ["python", str(built / "train_ddp.py")], "--activate", ACTIVATE_TORCH), "weights")


@some("openmpi5", "openmpi4")
def test_a_confined_store(hosts, built, launcher):
    passes(launcher.start(hosts, ["python", str(built / "train_ddp.py")], "--confine-store", "--activate", ACTIVATE_TORCH), "weights")


@some("torchrun", "openmpi5", "openmpi4", "intel", in_ci=("torchrun", "openmpi5"))
def test_cpp_ddp(hosts, built, launcher):
    """Runs over Gloo under torchrun, and over MPI under the others."""
    hosts.lab.shell("n1", "rm -rf ~/toy_ddp* snapshot*")
    in_brackets = ["--master-addr", "[fd00:198:18::1:1]"]  # as in a URL; ranks get the address without brackets
    passes(launcher.start(hosts, [str(built / "toy_ddp"), "2", "2"], *in_brackets), "weights add up to")


@some("openmpi5", "torchrun", in_ci=("openmpi5",))
def test_bench(hosts, built, launcher):
    backend = "bare" if launcher.mpi else "gloo"
    flags = [] if launcher.mpi else ["--activate", ACTIVATE_TORCH]
    done = hosts.lab.exec("launcher", "env", f"PATH={launcher.path}", str(built / "muster"), "bench", "all-reduce", "-H", hosts.all, "--engine",
                          launcher.engine, "--backend", backend, "--min", "64K", "--max", "64K", "--seconds", "0.1", "--expect", "1kbit", *flags, "--json",
                          timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    (measured,) = described("bench-results", json.loads(done.stdout))["measurements"]
    assert measured["wrong"] == 0 and measured["bytes"] == 65536


def test_an_engine_that_cannot_is_refused_with_the_reason(hosts):
    """MPICH cannot start ranks over IPv6. Open MPI 4 cannot if the hosts are listed by their addresses."""
    openmpi4 = hosts.muster("check", "-H", "fd00:198:18::1:1,fd00:198:18::1:2", engine=BY_NAME["openmpi4"])
    assert openmpi4.returncode == 123 and "cannot start ranks on hosts that are listed by their IPv6 addresses" in " ".join(openmpi4.stdout.split()), openmpi4.stdout
    mpich = BY_NAME["mpich"]
    checked = hosts.muster("check", "-H", hosts.all, "--engine", "mpich", engine=mpich)
    assert checked.returncode == 123 and "[engine-without-ipv6]" in checked.stdout, checked.stdout + checked.stderr
    refused = hosts.run(mpich, "--engine", "mpich", "--", "true")
    assert refused.code == 123, refused.said()
    text = " ".join(refused.errors.split())
    assert "MPICH 5.0.2 cannot start ranks over IPv6: its launcher, hydra, connects over IPv4 only" in text
    assert "use --engine torchrun" in text


@pytest.mark.campaign
def test_mpich_still_cannot(hosts):
    """If this test fails, MPICH supports IPv6 now, and muster need not reject it any more."""
    run = hosts.run(BY_NAME["mpich"], "--engine", "mpich", "--force", "--", "true", within=60)
    assert run.code == 125 and "unable to get host address" in run.errors, run.said()


@some("torchrun")
def test_train(hosts, built, shared, launcher):
    write_digits(shared / "digits")
    run = hosts.launch([str(built / "muster"), "train", "mnist", "-H", hosts.all, "--engine", "torchrun", "--activate",
                        ACTIVATE_TORCH, "--dataset-dir", str(shared / "digits/mnist"), "--output-dir", str(shared / "trained"),
                        "--epochs", "1", "--max-steps", "3"], launcher)
    assert run.end(200) == 0, run.said()


@pytest.mark.campaign
def test_slurm(module_lab_up, built, shared):
    """srun starts the ranks of libmuster's example. Slurm is configured for IPv6."""
    lab = module_lab_up(hosts=2, ip="6", share=shared)
    Slurm(lab, shared)
    done = lab.exec("launcher", "env", f"PATH={SYSTEM_PATH}", "salloc", "-Q", "-N2", "--ntasks-per-node=1", str(built / "muster"), "run", "--",
                    str(built / "toy_ddp"), "2", "2", timeout=120)
    assert done.returncode == 0 and done.stdout.count("weights add up to") == 2, done.stdout + done.stderr


@pytest.fixture
def half_shared(lab_up, built):
    """The hosts have both kinds of addresses but share only an IPv6 network."""
    lab = lab_up(hosts=2, ip="both")
    lab.exec("n2", "sh", "-ec", "ip addr del 198.18.1.2/16 dev eth0; ip addr add 198.19.77.2/24 dev eth0", root=True, check=True)
    return Cluster(lab)


@pytest.mark.campaign
def test_gloo_takes_the_shared_network_in_libmuster_and_check_warns_of_python(half_shared, built):
    run = BY_NAME["torchrun"].start(half_shared, [str(built / "toy_ddp"), "2", "2"])
    passes(run, "weights add up to")
    assert "gloo-takes-first-address" in run.errors
