"""The code blocks of the pages about training and measuring, and README's C++: programs are compiled and run, commands run on hosts, and
errors are provoked."""
import json
import os
import re
import shlex
import shutil
import subprocess

import pytest
from comparisons.comparison import OWN_NETWORK, free_port
from tests.docs.pages import ROOT, take
from tests.mpi.mpis import MPIS, Watched
from tests.mpi.survivors import SAYS_WHEN_LEFT
from tests.python.conftest import package_folder, python, venv  # noqa: F401  fixtures
from tests.run.conftest import Cluster
from tests.run.launchers import DEPS, MPI, SYSTEM_PATH
from tests.staging import staged
from tests.torch.conftest import alone, build, ranks  # noqa: F401  fixtures
from tests.waiting import patient, until

LIBRARY, PYTHON, TRAIN, BENCH = "docs/libmuster.md", "docs/python.md", "docs/train.md", "docs/bench.md"
DDP = '#include "muster/distributed_data_parallel.hpp"'

IN_README, IN_LIBRARY = take("README.md", DDP), take(LIBRARY, DDP)
PROGRAM = take(LIBRARY, "#include <iostream>")
COLLECT = take(LIBRARY, "void collect_tensors(")
CHECKPOINTS = take(LIBRARY, '#include "muster/checkpoint.hpp"')
GROUP_OVER_MPI = take(LIBRARY, "auto group = muster::join()")
DEPENDENCIES, BUILD, INSTALL = take(LIBRARY, "sudo tools/install_deps --training")
FIND_PACKAGE = take(LIBRARY, "find_package(Muster ")
(COMPILE,) = take(LIBRARY, "g++ train.cpp ")
(MISSING,) = take(LIBRARY, "these ranks did not join the group")
OTHER_MODELS = take(LIBRARY, "DistributedDataParallel: the model is not the same")
CHECKPOINT_FILES = take(LIBRARY, "checkpoints/step-")
SILENT, LATE, NEVER_SENT = take(LIBRARY, "MPI: all_reduce of 1024 Float")
EXAMPLES = take(LIBRARY, "muster run -H n[1-3] --nproc-per-node 2 ./message_passing")
MPIRUN_SCRIPT, RUN_SCRIPT = take(PYTHON, "mpirun -n 4 python train.py")
(DOCTOR,) = take(PYTHON, "python -m muster_torch.doctor")
PIP_NEEDS, PIP_INSTALL = take(PYTHON, "pip install torch ")
(TRAIN_RESNET,) = take(TRAIN, "muster train resnet18 -H n[1-3] --nproc-per-node 2 ")
(PROGRESS,) = take(TRAIN, "epoch 1/5 ")
(TRAIN_WITH_SPARES,) = take(TRAIN, "muster train resnet18 -H n[1-3] --spares ")
(MEASURE,) = take(BENCH, "muster bench all-reduce ")
(SAVE_RATES,) = take(BENCH, "muster bench pairs ")

EXAMPLE_PROGRAMS = ("message_passing", "pi", "toy_ddp")


def command(line, within=60, **options):
    """Runs a line of a page in a shell and returns its standard output."""
    done = subprocess.run(["bash", "-ec", line], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(within), **options)
    assert done.returncode == 0, f"{line}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def changed(pattern, replacement, text):
    """Returns the text with the only match replaced."""
    assert len(re.findall(pattern, text, re.M)) == 1, f"not once '{pattern}' in:\n{text}"
    return re.sub(pattern, lambda match: match.expand(replacement), text, flags=re.M)


# ---- libmuster.md and README.md: the installed library

def test_what_the_installation_begins_with(tmp_path):
    """Tests all steps except the compilation, which the build under test has already done."""
    assert "install_deps: installing" not in command(changed("^sudo ", "", DEPENDENCIES), cwd=ROOT)
    configure, make = re.fullmatch(r"(cmake -B build -G Ninja) && (cmake --build build)", BUILD).groups()
    said = command(changed("build", str(tmp_path), configure), cwd=ROOT)
    assert "-- With libmuster, for PyTorch " in said, said
    would_make = command(changed("build$", rf"{tmp_path} -- -n", make))
    for name in ("bin/muster", "lib/libmuster.so", "bin/muster-train", "bin/muster-bench"):
        assert f" {name}\n" in would_make, would_make


@pytest.fixture(scope="module")
def prefix(build, tmp_path_factory):
    """The folder in which libmuster is installed."""
    folder = tmp_path_factory.mktemp("install")
    command(changed("^sudo cmake --install build ", f"cmake --install {build} --prefix {folder} ", INSTALL))
    return folder


def test_use_from_cmake(prefix, alone, tmp_path):
    """Compiles with the one header that does not include PyTorch's, which take long to compile."""
    (tmp_path / "CMakeLists.txt").write_text("\n".join(["cmake_minimum_required(VERSION 3.25)", "project(train LANGUAGES CXX)", FIND_PACKAGE[0],
                                                        "add_executable(train train.cpp)", *FIND_PACKAGE[1:], ""]))
    (tmp_path / "train.cpp").write_text('#include <cstdio>\n#include "muster/sampler.hpp"\n'
                                        "int main() { muster::BatchSampler sampler({.samples = 6, .global_batch = 2});\n"
                                        "  std::printf(\"%d\\n\", static_cast<int>(sampler.batches_an_epoch())); }\n")
    command(f"cmake -B made -DCMAKE_PREFIX_PATH={prefix} && cmake --build made", cwd=tmp_path)
    done = alone([tmp_path / "made/train"])
    assert (done.stdout, done.returncode) == ("3\n", 0), done.stderr


def function(name, lines, *gaps, before="", after=""):
    """Returns the C++ of a page as a function, with each line `...` replaced by what a reader would write."""
    includes = [line for line in lines if line.startswith("#include ")]
    body, gaps = [line for line in lines if line not in includes], list(gaps)
    body = [gaps.pop(0) if line == "..." else line for line in body]
    assert gaps == []
    return "\n".join([*includes, f"void {name}(const std::string& folder) {{", before, *body, after, "}", ""])


READERS_DATA = """
  torch::manual_seed(job.rank);
  torch::optim::SGD optimizer(net.parameters(), 0.1);
  const auto x = torch::rand({8, 20});
  const auto y = x.sum(1, true);
"""
READERS_LOOP = """
  std::cout << "begins at step " << step << ", epoch " << sampler.position().epoch << ", batch " << sampler.position().batch << "\\n";
  while (step < 120) {
    if (!sampler.next()) continue;
    const auto x = torch::rand({4, 20});
    net.zero_grad();
    torch::mse_loss(net(x), x.sum(1, true)).backward();
    optimizer.step();
    ++step;
  }
"""
READERS_MODELS = """
#include "muster/mpi.hpp"
#include "muster/sampler.hpp"

std::shared_ptr<Net> made() {
  torch::manual_seed(0);
  return std::make_shared<Net>();
}

void say_weights(const torch::nn::Module& model) {
  double sum = 0;
  for (const auto& parameter : model.parameters()) sum += parameter.abs().sum().item<double>();
  std::printf("%.17g\\n", sum);
}

struct Other : torch::nn::Module {
  explicit Other(int in) : fc1(register_module("fc1", torch::nn::Linear(in, 10))) {}
  torch::Tensor forward(const torch::Tensor& x) { return fc1(x); }
  torch::nn::Linear fc1;
};

void models(const std::string&) {
  const auto job = muster::join();
  try {
    muster::DistributedDataParallel net(std::make_shared<Other>(job.rank == 1 ? 6 : 5), job.group());
  } catch (const std::runtime_error& error) {
    std::cout << error.what() << "\\n";
  }
}

struct MyOutput {
  torch::Tensor logits;
};

struct Partly : torch::nn::Module {
  MyOutput forward(const torch::Tensor& x) { return {used(x)}; }
  torch::nn::Linear used = register_module("used", torch::nn::Linear(4, 3));
  torch::nn::Linear unused = register_module("unused", torch::nn::Linear(4, 3));
};
"""
READERS_MAIN = """
void partly(const std::string&) {
  const auto job = muster::join();
  torch::manual_seed(0);
  muster::DistributedDataParallel net(std::make_shared<Partly>(), job.group(), {.find_unused_parameters = true});
  torch::optim::SGD optimizer(net.parameters(), 0.1);
  torch::manual_seed(job.rank);
  for (int step = 0; step < 3; ++step) {
    net.zero_grad();
    net(torch::rand({8, 4})).logits.sum().backward();
    optimizer.step();
  }
  say_weights(*net.module());
}

int main(int, char** words) {
  const std::map<std::string, std::function<void(const std::string&)>> parts = {
      {"program", [](const std::string&) { program(); }}, {"models", models}, {"partly", partly},
      {"readme", readme}, {"library", library}, {"checkpoints", checkpoints_of}, {"mpi", over_mpi}};
  parts.at(words[1])(words[2]);
}
"""


def source():
    """Returns all C++ of the pages as one file, because PyTorch's headers take long to compile."""
    folder = changed(r'\{\.folder = "/data/run7/checkpoints"\}', "{.folder = folder, .shard_bytes = 1}", "\n".join(CHECKPOINTS))
    values = changed(r'\{"epoch", \.\.\.\}, \{"batch", \.\.\.\}',
                     r'{"epoch", std::to_string(sampler.position().epoch)}, {"batch", std::to_string(sampler.position().batch)}', folder)
    return "\n".join([
        changed(r"^int main\(\) \{$", "void program() {", "\n".join(PROGRAM)), READERS_MODELS, *COLLECT,
        *(function(name, lines, READERS_DATA, before="  auto model = made();", after="  say_weights(*model);")
          for name, lines in (("readme", IN_README), ("library", IN_LIBRARY))),
        function("checkpoints_of", values.splitlines(), READERS_LOOP, "", before="""
  const auto job = muster::join();
  const auto group = job.group();
  auto model = made();
  torch::optim::SGD optimizer(model->parameters(), 0.01);
  muster::BatchSampler sampler({.samples = 64, .global_batch = 8, .rank = job.rank, .ranks = job.size});
  int64_t step = 0;""", after="""
  std::cout << "ends at step " << step << ", epoch " << sampler.position().epoch << ", batch " << sampler.position().batch << "\\n";
  say_weights(*model);"""),
        function("over_mpi", GROUP_OVER_MPI, after="""
  std::vector<at::Tensor> one = {at::ones({1})}, two = {at::ones({1})};
  group->allreduce(one)->wait();
  backend->allreduce(two)->wait();
  std::printf("%g %g\\n", one[0].item<double>(), two[0].item<double>());"""),
        READERS_MAIN])


COMPILED = pytest.mark.campaign  # takes half a minute of CPU time


@pytest.fixture(scope="module")
def train(prefix, tmp_path_factory):
    """The program that the page's line with pkg-config builds from the code on the pages."""
    folder = tmp_path_factory.mktemp("train")
    (folder / "train.cpp").write_text(source())
    command(COMPILE, within=250, cwd=folder, env={**os.environ, "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"})
    return folder / "train"


@COMPILED
def test_the_whole_program_learns(train, ranks):
    first, second = ranks([train, "program", ""], 2).good()
    losses = [float(line) for line in first.splitlines()]
    assert len(losses) == 10 and losses[-1] < losses[0] / 10 and second == "", first


@COMPILED
@pytest.mark.parametrize("part", ["readme", "library", "partly"])
def test_gradients_are_averaged(train, ranks, part):
    """The ranks have different data and must end with the same weights."""
    first, second = ranks([train, part, ""], 2).good()
    assert float(first) > 0 and second == first


@COMPILED
def test_models_that_differ_are_shown(train, ranks):
    assert ranks([train, "models", ""], 4).good() == ["\n".join([*OTHER_MODELS, ""])] * 4


@COMPILED
def test_checkpoints(train, ranks, tmp_path):
    """The second job continues where the first one ended, and the disk holds the files that the page shows."""
    folder = tmp_path / "checkpoints"
    first = ranks([train, "checkpoints", folder], 2).good()[0].splitlines()
    assert first[0] == "begins at step 0, epoch 0, batch 0" and first[1].startswith("ends at step 120, epoch "), first
    again = ranks([train, "checkpoints", folder], 2).good()[0].splitlines()
    assert again == [first[1].replace("ends", "begins"), *first[1:]]
    shown = CHECKPOINT_FILES[0].rsplit("/", 1)
    names = [shown[1], *(line.strip() for line in CHECKPOINT_FILES[1:])]
    assert sorted(str(path.relative_to(tmp_path)) for path in folder.glob("*/*")) == sorted(f"{shown[0]}/{name}" for name in names)


@COMPILED
def test_a_group_over_mpi(train, alone):
    done = alone([*OWN_NETWORK, MPI["mpich"] / "bin/mpirun", "-n", "2", train, "mpi", ""])
    assert (done.stdout, done.returncode) == ("2 2\n2 2\n", 0), done.stderr


def test_ranks_that_do_not_come_are_named(build, ranks):
    probe, port = build / "tests/torch/job_probe", free_port()
    # Rank 0 serves the store for longer, so that rank 2 may begin some seconds after it.
    started = [ranks([probe, "group", "gloo", limit], 4, only=[rank], MASTER_PORT=port) for rank, limit in ((2, 8000), (0, 14_000))]
    for (_, said), code in [end for one in started for end in one.end()]:
        assert code == 1 and MISSING in [line.removeprefix("job_probe: ") for line in said.splitlines()], said


# ---- on hosts

class Hosts(Cluster):
    """Four hosts with muster and its programs, and a shared directory in which commands are typed."""

    def __init__(self, lab, programs, shared):
        super().__init__(lab)
        self.tools, self.folder = programs, shared

    def type(self, line, *more, host="launcher", mpi="openmpi5", folder=".", environment=None, within=60):
        """Returns the output of a line that must succeed. `environment` is an active Python environment."""
        path = f"{self.tools}:{MPI[mpi]}/bin:{SYSTEM_PATH}"
        active = [f"VIRTUAL_ENV={environment}", f"PATH={environment}/bin:{path}"] if environment else [f"PATH={path}"]
        done = self.lab.exec(host, "env", "-C", self.folder / folder, *active, *shlex.split(line), *more, timeout=within)
        assert done.returncode == 0, f"{line}:\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def programs(build, muster):
    with staged(build, muster, *(build / "bin" / name for name in ("muster-train", "muster-bench", "mpi_trouble")),
                *(build / "examples" / name for name in EXAMPLE_PROGRAMS)) as folder:
        yield folder


@pytest.fixture(scope="module")
def hosts(programs, venv, module_lab_up, tmp_path_factory):
    shared = tmp_path_factory.mktemp("shared")
    shared.chmod(0o1777)
    for name in ("lib", "bin"):
        shutil.copytree(programs.parent / name, shared / name, symlinks=True)  # to a place that the hosts' user can write to
    (shared / "bin").chmod(0o1777)
    return Hosts(module_lab_up(hosts=4, share=shared), programs, shared)


def labelled(said):
    """Returns the ranks' output without labels, sorted."""
    return sorted(line.split("] ", 1)[1] for line in said.splitlines() if line.startswith("["))


def fewer_ranks(line, hosts="n[1-3]"):
    """Returns the line with one rank per host, because waiting ranks poll and this machine may have only two CPUs."""
    return changed(r" -H n\[1-3\] --nproc-per-node 2 ", f" -H {hosts} --nproc-per-node 1 ", line)


@pytest.mark.lab
def test_examples(hosts):
    message_passing, pi, toy_ddp = map(fewer_ranks, EXAMPLES)
    assert labelled(hosts.type(message_passing, folder="bin")) == [f"rank {rank} of 3 has 0.5 1 1.5" for rank in range(3)]
    (line,) = labelled(hosts.type(pi, folder="bin", mpi="mpich"))
    assert re.fullmatch(r"pi is about 3\.1[34]\d+: 3 ranks, 3000000 points", line), line
    lines = labelled(hosts.type(toy_ddp, folder="bin"))
    assert len([line for line in lines if line.startswith("epoch ")]) == 10, lines
    weights = [line.split()[-1] for line in lines if line.startswith("rank ")]
    assert len(weights) == 3 and len(set(weights)) == 1, lines


@pytest.mark.lab
def test_measuring(hosts):
    """Measures only some sizes, because all of them take minutes."""
    said = hosts.type(MEASURE, "--max", "1K", "--factor", "8", "--seconds", "0.01", "--expect", "1kbit")
    sizes = {line.split()[0] for line in said.splitlines() if line and not line.startswith("#")}
    assert {"8", "64", "512"} <= sizes and "PASS" in said, said


@pytest.mark.lab
def test_saving_rates(hosts):
    said = hosts.type(changed(r"n\[1-16\]", "n[1-2]", SAVE_RATES), "--seconds", "0.05", "--expect", "1kbit")
    assert "PASS" in said, said
    hosts.lab.shell("launcher", "rm -r ~/.local/state/muster/hosts")


def shape(line, numbers=r"\d+(?:\.\d+)?"):
    """Returns a pattern for a shown line: the same words with other numbers."""
    return re.sub(r"\d+(?:\\\.\d+)?", lambda _: numbers, re.escape(line))


def write_images(folder, each=2, held_out=3):
    """Writes a data set in CIFAR-10's format that is small enough for a ResNet on this machine's CPUs."""
    folder.mkdir()
    for name, count in [*((f"data_batch_{number}", each) for number in range(1, 6)), ("test_batch", held_out)]:
        (folder / f"{name}.bin").write_bytes(b"".join(bytes([i % 10]) + bytes((i * 37 + at) % 256 for at in range(3072)) for i in range(count)))


SMALL = ["--epochs", "2", "--batch-size", "6", "--log-every", "1"]


@pytest.fixture(scope="module")
def directories(hosts):
    """Makes /data/cifar10 and /shared on every host."""
    write_images(hosts.folder / "cifar10")
    for host in ("launcher", *hosts.lab.hosts):
        hosts.lab.shell(host, f"mkdir -p /data && ln -s {hosts.folder}/cifar10 /data/cifar10 && ln -s {hosts.folder} /shared", root=True)


def result(hosts):
    return json.loads((hosts.folder / "first/result.json").read_text())


@pytest.mark.lab
def test_training(hosts, directories):
    """Trains a ResNet on ten images, on two hosts. The accuracy is known after the first epoch, which has two steps."""
    said = labelled(hosts.type(fewer_ranks(TRAIN_RESNET, "n[1-2]"), *SMALL, "--max-steps", "3", within=120))
    pattern = shape(PROGRESS.rsplit("  left ", 1)[0]) + r"  left (?:\d+ s|\d+ min|\d+\.\d h)"
    assert re.fullmatch(pattern, PROGRESS) and [line for line in said if re.fullmatch(pattern, line)], "\n".join([pattern, *said])
    assert (result(hosts)["ranks"], result(hosts)["steps"]) == (2, 3)


@pytest.mark.campaign  # takes twice as long as test_training
@pytest.mark.lab
def test_training_with_spares(hosts, directories):
    """The same command run again resumes where the first one ended."""
    hosts.type(TRAIN_WITH_SPARES, *SMALL, "--max-steps", "3", within=120)
    said = hosts.type(TRAIN_WITH_SPARES, *SMALL, within=120)
    assert "epoch 2/2  step 4/4 " in said and "step 1/4" not in said, said
    assert (result(hosts)["ranks"], result(hosts)["steps"]) == (3, 4) and (hosts.folder / "first/model.safetensors").exists()


SCRIPT = """
import torch, torch.distributed as dist
dist.init_process_group("mpi")
ones = torch.ones(3)
dist.all_reduce(ones)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {ones.tolist()}", flush=True)
"""


@pytest.mark.campaign  # starts PyTorch ten times; tests/python has similar scripts in CI
@pytest.mark.lab
def test_a_script_over_mpi(hosts, venv):
    """On the hosts, the environment is activated as in README.md."""
    (hosts.folder / "scripts").mkdir()
    (hosts.folder / "scripts/train.py").write_text(SCRIPT)
    (hosts.folder / "scripts/muster.yaml").write_text(f"activate: source {venv}/bin/activate\n")
    said = hosts.type(MPIRUN_SCRIPT, host="n1", mpi="mpich", folder="scripts", environment=venv)
    assert sorted(said.splitlines()) == [f"rank {rank} of 4: [4.0, 4.0, 4.0]" for rank in range(4)], said
    said = labelled(hosts.type(RUN_SCRIPT, folder="scripts", environment=venv))
    assert said == [f"rank {rank} of 6: [6.0, 6.0, 6.0]" for rank in range(6)], said


@pytest.mark.lab
def test_the_doctor(hosts, venv):
    said = hosts.type(DOCTOR, host="n1", environment=venv)
    for pattern in (r"library: +/\S+/libmpi\S* \(.+\)", r"MPI: +Open MPI v", "thread level: MPI_THREAD_MULTIPLE", "CUDA-aware: +no",
                    r'^init_process_group\("mpi"\) works: 1 rank on n1'):
        assert re.search(pattern, said, re.M), said


@pytest.mark.campaign
@pytest.mark.lab
def test_operations_that_do_not_end_name_the_rank(hosts, programs):
    """The waiting ranks poll for 12 s. tests/mpi tests this in more detail."""
    jobs = {line: Watched(MPIS[0].command(hosts.lab, count, [*SAYS_WHEN_LEFT, programs / "mpi_trouble", trouble], keep_survivors=True))
            for line, count, trouble in ((SILENT, 3, "stopped"), (LATE, 3, "late"), (NEVER_SENT, 2, "lonely"))}
    try:
        for line, job in jobs.items():
            until(line, lambda job=job: job.times("left with 3") or job.process.poll() is not None, within=60)
            told = [text.split(" s: ", 1)[1] for _, text in job.lines if re.match(r"rank \d: after ", text)]
            assert told and re.fullmatch(shape(line, r"\d+"), told[0]), f"{line}\n{job.said()}"
    finally:
        for job in jobs.values():
            job.end()


@pytest.mark.campaign
def test_pip_install(tmp_path):
    """Uses an environment that has PyTorch, and Debian's CMake and Ninja, so nothing is downloaded."""
    (torch_site,) = DEPS.glob("torch/lib/python3*/site-packages")
    command(f"{DEPS}/torch/bin/python -m venv {tmp_path}/venv && git clone -q {ROOT} {tmp_path}/muster", within=120)
    (site,) = tmp_path.glob("venv/lib/python3*/site-packages")
    (site / "torch.pth").write_text(f"{torch_site}\n")
    env = {**os.environ, "PATH": f"{tmp_path}/venv/bin:{MPI['openmpi5']}/bin:{SYSTEM_PATH}"}
    needs = changed(r"^pip install (.*) 'cmake>=3\.25' ninja$", r"pip install --no-index \1", PIP_NEEDS)
    command("pip uninstall -qy setuptools", env=env)  # older than the version that PyTorch installed
    assert command(needs, env=env).count("Requirement already satisfied: ") >= 2
    command(changed("^pip install ", "pip install --no-index ", PIP_INSTALL), within=600, cwd=tmp_path / "muster", env=env)
    said = command("python -c 'import torch.distributed as d; print(d.is_mpi_available())'", cwd=tmp_path, env=env)
    assert said == "True\n", said
