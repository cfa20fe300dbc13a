#include <gtest/gtest.h>

#include "checks/activation_advice.hpp"
#include "checks/judged.hpp"
#include "sys/hash.hpp"

namespace muster::checks {
namespace {

using layout::open_mpi;

TEST(Engine, IsMissingHere) {
  World world = good_world(2);
  world.launcher.mpi = {{.kind = "mpich", .version = "5.0.2", .launcher = "/m/bin/mpirun"}};
  world.job.engine = "intel";
  ASSERT_EQ(brief(world), "error all remote-daemon-not-in-path");
  const Finding finding = judged(world).front();
  EXPECT_EQ(finding.what, "there is no Intel MPI on this machine that could start the job");
  EXPECT_EQ(finding.evidence, "found MPICH 5.0.2 at /m/bin/mpirun");
  EXPECT_TRUE(has(finding.fix, "pip install impi-rt"));
}

TEST(Engine, ThatWasNamedIsNotThereOrNone) {
  World world = good_world(2);
  world.job.launcher = "/bin/nothere";
  ASSERT_EQ(brief(world), "error all remote-daemon-not-in-path");
  EXPECT_TRUE(has(judged(world).front().what, "/bin/nothere does not exist on this machine"));
  EXPECT_TRUE(has(judged(world).front().fix, "--launcher"));
  world.launcher.mpi.push_back({.launcher = "/bin/nothere"});
  EXPECT_EQ(judged(world).front().what,
            "/bin/nothere on this machine is not an MPI launcher that muster knows");
}

TEST(Engine, IsMissingOnAHost) {
  World world = good_world(3);
  world.host(2).mpi = {open_mpi("5.0.11", "/elsewhere")};
  ASSERT_EQ(brief(world), "error n2 remote-daemon-not-in-path");
  EXPECT_EQ(judged(world).front().evidence, "found Open MPI 5.0.11 at /elsewhere/bin/mpirun");
}

TEST(Engine, LacksItsDaemonOnAHost) {
  World world = good_world(3);
  world.launcher.mpi[0].daemon = "/opt/ompi/bin/prted";
  for (int number : {1, 2, 3}) world.host(number).mpi[0].daemon = "/opt/ompi/bin/prted";
  EXPECT_EQ(brief(world), "");
  world.host(2).mpi[0].daemon.clear();
  ASSERT_EQ(brief(world), "error n2 remote-daemon-not-in-path");
  EXPECT_EQ(judged(world).front().what,
            "Open MPI 5.0.11 starts /opt/ompi/bin/prted on each host, and the host lacks it");
  world.launcher.mpi[0].daemon.clear();  // in an unknown place, so nothing is known
  EXPECT_EQ(brief(world), "");
}

TEST(Engine, DiffersOnAHost) {
  World world = good_world(3);
  world.host(3).mpi = {open_mpi("5.1.0")};
  ASSERT_EQ(brief(world), "error n3 ompi-version-mismatch");
  EXPECT_EQ(judged(world).front().evidence,
            "Open MPI 5.1.0 on the host, Open MPI 5.0.11 on this machine");
  world.host(3).mpi = {open_mpi("5.0.6")};
  EXPECT_EQ(brief(world), "warning n3 ompi-version-mismatch");
  world.host(3).mpi = {open_mpi("5.0.11")};
  world.host(3).mpi[0].library.hash = "another";
  EXPECT_EQ(brief(world), "warning n3 ompi-version-mismatch");
  world.host(3).mpi[0].library.hash = "";  // not read, so nothing is known
  EXPECT_EQ(brief(world), "");
  world.host(3).mpi[0].kind = "mpich";
  EXPECT_EQ(brief(world), "error n3 ompi-version-mismatch");
}

TEST(Engine, OfAnUnknownVersionOnAHostIsOnlyAWarning) {
  World world = good_world(3);
  world.host(3).mpi = {open_mpi("")};
  ASSERT_EQ(brief(world), "warning n3 ompi-version-mismatch");
  EXPECT_EQ(judged(world).front().what,
            "muster cannot read the version of /opt/ompi/bin/mpirun on the host");
}

TEST(Engine, OfAnotherArchitectureThanTheLauncherMayBeAnotherBuild) {
  World world = good_world(2);
  for (int number : {1, 2}) {
    world.host(number).cpu.architecture = "aarch64";
    world.host(number).mpi[0].library.hash = "of aarch64";
  }
  EXPECT_EQ(brief(world), "");
  world.host(2).mpi = {open_mpi("5.1.0")};
  EXPECT_EQ(brief(world), "error n2 ompi-version-mismatch");
}

TEST(Engine, StartsNoMpiForPythonThatSpeaksOfIt) {
  World world = good_world_with_program(2);
  world.job.program = {"python", "train.py"};
  world.job.mpi_word = "mpi4py";
  for (int number : {1, 2}) {
    world.host(number).torch = {"/venv/bin/torchrun", "2.13.0"};
    world.host(number).program->libmpi.reset();
    world.host(number).program->libmpi_kind.clear();
  }
  EXPECT_EQ(brief(world), "");  // muster chooses an MPI to start the program, not torchrun
  world.host(2).mpi.clear();
  ASSERT_EQ(brief(world), "warning all all-ranks-zero");
  EXPECT_TRUE(
      has(judged(world).front().what, "mentions MPI (mpi4py), but torchrun does not start MPI"));
  world.job.engine = "torchrun";
  EXPECT_EQ(brief(world), "");
}

TEST(Libmpi, OfAnotherMpiMakesSingletons) {
  World world = good_world_with_program(3);
  world.host(2).program->libmpi_kind = "mpich";
  world.host(2).program->libmpi_version = "5.0.2";
  ASSERT_EQ(brief(world), "error n2 all-ranks-zero");
  EXPECT_EQ(judged(world).front().evidence,
            "/opt/job/train loads MPICH 5.0.2 (/opt/ompi/lib/libmpi.so); the engine is Open MPI "
            "5.0.11");
}

TEST(Libmpi, OfAnotherMajorVersionMakesSingletons) {
  World world = good_world_with_program(2);
  for (int number : {1, 2}) world.host(number).program->libmpi_version = "4.1.4";
  EXPECT_EQ(brief(world), "error n[1-2] all-ranks-zero");
}

TEST(Libmpi, OfAnotherBuildIsAWarning) {
  World world = good_world_with_program(3);
  world.host(1).program->libmpi->hash = "m2";
  EXPECT_EQ(brief(world), "warning n1 ompi-version-mismatch");
  world.host(1).program->libmpi.reset();
  EXPECT_EQ(brief(world), "");
}

TEST(Libmpi, OfTheEngineIsToldOfOnce) {
  World world = good_world_with_program(3);
  for (int number : {1, 2, 3}) {
    world.host(number).program->libmpi->hash = world.host(number).mpi[0].library.hash;
  }
  world.host(2).mpi[0].library.hash = world.host(2).program->libmpi->hash = "another";
  ASSERT_EQ(brief(world), "warning n2 ompi-version-mismatch");
  EXPECT_EQ(judged(world).front().what,
            "its MPI has the same version as this machine's but is a different build");
}

World good_world_with_torch(int hosts) {
  World world = good_world_with_program(hosts);
  world.job.program = {"python3", "-c", "import torch"};
  for (int number = 1; number <= hosts; ++number) {
    world.host(number).program = facts::Program{.name = "python3",
                                                .path = "/usr/bin/python3",
                                                .executable = true,
                                                .identity = {"/usr/bin/python3", "p1", 10},
                                                .torch = "2.13.0+cpu"};
    world.host(number).torch = {.torchrun = "/usr/bin/torchrun", .version = "2.13.0+cpu"};
  }
  return world;
}

TEST(Program, BuiltForAnotherArchitectureIsNotStarted) {
  World world = good_world_with_program(2);
  for (int number : {1, 2}) world.host(number).program->architecture = "x86_64";
  EXPECT_EQ(brief(world), "");
  facts::Program& program = *world.host(2).program;
  program.architecture = "aarch64";
  program.missing_interpreter = "/lib/ld-linux-aarch64.so.1";  // naming it would not help the user
  ASSERT_EQ(brief(world), "error n2 exec-format-error");
  EXPECT_TRUE(has(judged(world).front().what, "is built for aarch64, but the host's architecture"));
  program.missing_interpreter.clear();
  world.host(2).cpu.architecture.clear();  // unknown
  EXPECT_EQ(brief(world), "");
}

TEST(Torch, OfACopiedEnvironmentIsForAnotherArchitecture) {
  World world = good_world_with_torch(2);
  for (int number : {1, 2}) {
    world.host(number).program->torch_folder = "/home/alice/venv/lib/python3.11/torch";
    world.host(number).program->torch_architecture = "x86_64";
    world.host(number).cpu.architecture = "aarch64";
  }
  ASSERT_EQ(brief(world), "error n[1-2] exec-format-error");
  EXPECT_TRUE(has(judged(world).front().what, "the PyTorch in /home/alice/venv"));
  EXPECT_TRUE(has(judged(world).front().fix, "cannot share one Python environment"));
}

TEST(Torch, OfAnotherVersionIsFoundUnderEveryEngine) {
  for (const std::string engine : {"openmpi", "slurm", "torchrun"}) {
    World world = good_world_with_torch(3);
    world.job.engine = engine;
    EXPECT_EQ(brief(world), "") << engine;
    world.host(2).program->torch = "2.12.1";
    // A Python program under an MPI need not use PyTorch, so the difference is only a warning.
    const std::string severity = engine == "torchrun" ? "error" : "warning";
    ASSERT_EQ(brief(world), severity + " n2 torch-version-skew") << engine;
    EXPECT_EQ(judged(world).front().evidence, "2.12.1; on most hosts 2.13.0+cpu");
  }
}

TEST(Torch, BesideTorchrunIsComparedUnderTorchrunOnly) {
  World world = good_world_with_program(3);
  for (int number : {1, 2, 3}) {
    world.host(number).program->libmpi.reset();
    world.host(number).program->libmpi_kind.clear();
    world.host(number).torch = {.torchrun = "/usr/bin/torchrun", .version = "2.13.0+cpu"};
  }
  world.host(2).torch.version = "2.12.1";
  EXPECT_EQ(brief(world), "");
  world.job.engine = "torchrun";
  EXPECT_EQ(brief(world), "error n2 torch-version-skew");
}

TEST(Program, IsMissing) {
  World world = good_world_with_program(3);
  world.host(2).program = facts::Program{.name = "/opt/job/train"};
  ASSERT_EQ(brief(world), "error n2 remote-exe-not-found");
  EXPECT_TRUE(has(judged(world).front().fix, "  muster sync -H n2 /opt/job"));
  world.job.program = {"train"};
  world.host(2).environment.seen["PATH"] = "/bin";
  EXPECT_EQ(judged(world).front().evidence, "PATH is /bin");
  EXPECT_TRUE(has(judged(world).front().fix, "install the program on the host"));
  world.host(2).program->only_in_folder = true;
  EXPECT_EQ(brief(world), "error n2 remote-exe-not-found");
  EXPECT_TRUE(has(judged(world).front().what, "train is in the current directory"));
  EXPECT_EQ(judged(world).front().fix, "give its path: ./train");
}

TEST(Program, LacksItsInterpreter) {
  World world = good_world_with_program(3);
  world.host(2).program->missing_interpreter = "/opt/venv/bin/python";
  ASSERT_EQ(brief(world), "error n2 remote-exe-not-found");
  EXPECT_EQ(
      judged(world).front().what,
      "/opt/job/train cannot start on the host: its interpreter /opt/venv/bin/python is missing");
  world.host(2).program->missing_interpreter = "/bin/sh\r";
  EXPECT_TRUE(has(judged(world).front().what, "Windows line endings"));
  EXPECT_TRUE(has(judged(world).front().fix, "sed -i"));
}

TEST(Program, IsCopiedByTheJobsOwnWord) {
  constexpr std::string_view kInstall =
      "install the same version, or activate the same environment, on all hosts";
  const struct {
    std::string word, folder;
    std::string_view fix;
  } cases[] = {
      {"./train", "/opt/job", "  muster sync -H n2 ."},
      {"bin/train", "/home/alice", "  muster sync -H n2 bin"},
      {"/data/my job/train", "/", "  muster sync -H n2 '/data/my job'"},
      {"./train", "/home/alice", "move it into a directory of its own"},
      {"/home/alice/train", "/", "move it into a directory of its own"},
      {"/train", "/opt", "move it into a directory of its own"},
      {"python3", "/opt/job", kInstall},
      {"/usr/bin/python3", "/opt/job", kInstall},
  };
  for (const auto& one : cases) {
    World world = good_world_with_program(3);
    world.job.program = {one.word};
    world.job.folder = one.folder;
    world.host(2).program->path = "/usr/bin/evil";
    ASSERT_EQ(brief(world), "warning n2 program-differs-between-hosts") << one.word;
    const std::string fix = judged(world).front().fix;
    EXPECT_TRUE(has(fix, one.fix)) << fix;
    EXPECT_FALSE(has(fix, "/usr/bin")) << fix;
    EXPECT_EQ(has(fix, "  muster sync"), has(one.fix, "  muster sync")) << fix;
  }
}

TEST(Folder, IsMissing) {
  World world = good_world_with_program(3);
  world.job.folder = "/data/my job";
  for (int number : {2, 3}) world.host(number).folder_exists = false;
  ASSERT_EQ(brief(world), "warning n[2-3] remote-cwd-missing");
  EXPECT_EQ(judged(world).front().fix,
            "add --sync to your command, or copy the directory:\n  muster sync -H 'n[2-3]' "
            "'/data/my job'");
  world.job.folder = "/home/alice";  // the folder in which ranks start by default
  EXPECT_EQ(brief(world), "");
  world.job.folder = "/data/my job";
  world.job.program = {};
  EXPECT_EQ(brief(world), "");
}

TEST(Folder, ThatWasNotAskedForIsNotMissing) {
  World world = good_world_with_program(2);
  world.host(2).folder_exists.reset();
  EXPECT_EQ(brief(world), "");
}

TEST(Program, ThatWasNotLookedAtIsNotTakenForGood) {
  World world = good_world_with_program(3);
  world.host(2).program.reset();
  EXPECT_EQ(brief(world), "note n2 facts-not-gathered");
}

TEST(Program, CannotBeExecuted) {
  World world = good_world_with_program(3);
  world.host(3).program->executable = false;
  ASSERT_EQ(brief(world), "error n3 remote-exe-not-found");
  EXPECT_EQ(judged(world).front().fix, "  muster exec -H n3 -- 'chmod +x /opt/job/train'");
}

TEST(Program, IsOnAMountThatForbidsExecution) {
  World world = good_world_with_program(3);
  world.host(3).program->executable = false;
  world.host(3).program->noexec_mount = "/opt/job";
  ASSERT_EQ(brief(world), "error n3 remote-exe-not-found");
  EXPECT_EQ(judged(world).front().what,
            "/opt/job/train cannot start on the host: /opt/job is mounted with noexec");
}

TEST(Program, LacksLibraries) {
  World world = good_world_with_program(3);
  world.host(3).program->missing_libraries = {"libucp.so.0", "libhwloc.so.15"};
  ASSERT_EQ(brief(world), "error n3 remote-shared-library-missing");
  EXPECT_EQ(judged(world).front().evidence, "libucp.so.0, libhwloc.so.15");
}

TEST(Program, Differs) {
  World world = good_world_with_program(3);
  world.host(1).program->identity.hash = "p2";
  ASSERT_EQ(brief(world), "warning n1 program-differs-between-hosts");
  EXPECT_EQ(judged(world).front().evidence,
            "/opt/job/train (10 bytes, p2); on most hosts /opt/job/train (10 bytes, p1)");
  world = good_world_with_program(2);
  // Of two hosts that differ, neither is the usual one.
  world.host(2).program->identity.hash = "p2";
  EXPECT_EQ(judged(world).front().what, "the program file differs from the one on n1");
  world.host(1).program->identity.hash = "";
  EXPECT_EQ(brief(world), "");
}

World activated(int hosts) {
  World world = good_world(hosts);
  world.job.activate = ". /opt/venv/bin/activate";
  for (int number = 1; number <= hosts; ++number) {
    world.host(number).environment = {.activated = true,
                                      .seen = {{"PATH", "/opt/venv/bin"}},
                                      .digest = {{"PATH", "d1"}, {"NCCL_DEBUG", "d2"}}};
  }
  return world;
}

TEST(Activation, Failed) {
  World world = activated(3);
  EXPECT_EQ(brief(world), "");
  world.host(2).environment = {.failure = "no such file"};
  ASSERT_EQ(brief(world), "error n2 remote-python-env-missing");
  EXPECT_EQ(judged(world).front().evidence, "no such file");
  EXPECT_TRUE(has(judged(world).front().fix, "with muster exec -H n2"));
  // Activation lines may contain secrets, so the fix must not show them.
  EXPECT_FALSE(has(judged(world).front().fix, "/opt/venv"));
}

TEST(Activation, AdviceKnowsVenvCondaAndOneapi) {
  const auto advice = [](const std::string& lines, const std::string& failure) {
    World world = activated(1);
    world.job.activate = lines;
    world.host(1).environment = {.failure = failure};
    return judged(world).front().fix;
  };
  constexpr auto kVenv = "source ~/venv/bin/activate";
  EXPECT_TRUE(has(advice(kVenv, "/home/dev/venv/bin/activate: No such file or directory"),
                  "create the venv at the same path on these hosts"));
  EXPECT_TRUE(has(advice("~/venv/bin/activate", "/home/dev/venv/bin/activate: Permission denied"),
                  "put 'source' before the path"));
  constexpr auto kLoadConda =
      "--activate 'source ~/miniconda3/etc/profile.d/conda.sh && conda activate ml'";
  for (const char* failure :
       {"line 1 ended with exit code 127: bash: line 1: conda: command not found",
        "CondaError: Run 'conda init' before 'conda activate'",
        "CommandNotFoundError: Your shell has not been properly configured to use 'conda "
        "activate'."}) {
    EXPECT_TRUE(has(advice("conda activate ml; export A=1", failure), kLoadConda)) << failure;
  }
  EXPECT_TRUE(has(advice("source ~/miniconda3/etc/profile.d/conda.sh && conda activate ml",
                         "EnvironmentNameNotFound: Could not find conda environment: ml"),
                  "create the conda environment ml on these hosts too"));
  constexpr auto kOneapi = "source /opt/intel/oneapi/setvars.sh";
  EXPECT_TRUE(has(advice(kOneapi, "WARNING: setvars.sh has already been run."), "--force"));
  EXPECT_TRUE(has(advice(kOneapi, "/opt/intel/oneapi/setvars.sh: No such file or directory"),
                  "install oneAPI at the same path on these hosts"));
  EXPECT_TRUE(has(advice("conda activate ml; false", "line 1 ended with exit code 1"),
                  "make the same environment available"));
}

TEST(Activation, IsNamedAfterWhatIsActiveHere) {
  const auto advice = [](const std::map<std::string, std::string>& seen) {
    World world = good_world(1);
    world.launcher.environment.seen = seen;
    return how_to_activate(world.launcher);
  };
  EXPECT_EQ(advice({{"VIRTUAL_ENV", "/home/me/v"}}), "--activate 'source /home/me/v/bin/activate'");
  EXPECT_EQ(advice({{"CONDA_PREFIX", "/opt/conda/envs/ml"}}),
            "--activate 'source /opt/conda/etc/profile.d/conda.sh && conda activate ml'");
  EXPECT_EQ(advice({{"CONDA_PREFIX", "/opt/conda"}}),
            "--activate 'source /opt/conda/etc/profile.d/conda.sh && conda activate base'");
  EXPECT_TRUE(has(advice({}), "for a venv"));
  EXPECT_TRUE(has(advice({}), "for conda"));
}

TEST(Activation, ComesBeforeWhatItCauses) {
  World world = activated(1);
  world.host(1).environment = {.failure = "no such file"};
  world.job.program = {"python3", "train.py"};
  world.host(1).program = facts::Program{};
  const std::vector<Finding> findings = judged(world);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].what, "--activate failed on the host");
  EXPECT_EQ(findings[1].what, "python3 does not exist on the host");
}

TEST(Activation, IsUndoneByVariablesFromHere) {
  World world = activated(3);
  for (int number : {1, 2}) {
    world.host(number).environment.digest["PATH"] = sys::hash_text("/opt/venv/bin:/bin");
  }
  world.host(3).environment.digest["PATH"] = sys::hash_text("/bin");
  world.host(3).environment.digest["NCCL_DEBUG"] = "d2";
  world.job.env_values = {{"PATH", "/bin"}, {"SECRET", "told to nobody"}};
  const std::vector<Finding> findings = judged(world);
  // It does not matter that n3's PATH differs, because the ranks get this machine's value.
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].hosts, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(findings[0].what,
            "this machine's value of PATH overrides what --activate sets on the host");
  EXPECT_TRUE(has(findings[0].fix, "leave out -x PATH"));
}

TEST(Environment, DiffersInVariablesWhoseValuesAreNotTold) {
  World world = activated(3);
  world.host(3).environment.seen["PATH"] = "/usr/bin";
  world.host(3).environment.digest = {{"PATH", "d9"}, {"SECRET", "d3"}};
  world.host(1).environment.digest["HOSTNAME"] = "d4";  // normally differs between hosts
  ASSERT_EQ(brief(world), "warning n3 nccl-env-differs-per-host");
  EXPECT_EQ(judged(world).front().evidence, "NCCL_DEBUG (not set), PATH=/usr/bin, SECRET");
}

}  // namespace
}  // namespace muster::checks
