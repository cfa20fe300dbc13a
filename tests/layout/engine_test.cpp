#include "layout/engine.hpp"

#include <gtest/gtest.h>

#include "layout/world.hpp"

namespace muster::layout {
namespace {

Engine chosen(const World& world) {
  return world.layout().engine;
}

TEST(Engine, ReadsVersions) {
  const Version version = parse_version("5.0.11");
  EXPECT_EQ(version.major, 5);
  EXPECT_EQ(version.minor, 0);
  EXPECT_EQ(version.patch, 11);
  EXPECT_EQ(parse_version("4.1.4rc2").patch, 4);
  EXPECT_EQ(parse_version("2021.19").major, 2021);
  EXPECT_EQ(parse_version("").major, 0);
  EXPECT_EQ(parse_version("-3.99999999999").major, 0);
}

TEST(Engine, IsTheFirstMpiUnlessOneIsNamed) {
  World world = good_world(2);
  world.launcher.mpi = {open_mpi("5.0.11"),
                        {.kind = "mpich", .version = "5.0.2", .launcher = "/m/bin/mpirun"},
                        open_mpi("4.1.4", "/usr")};
  EXPECT_EQ(chosen(world).launcher, "/opt/ompi/bin/mpirun");
  EXPECT_EQ(chosen(world).major, 5);
  world.job.launcher = "/usr/bin/mpirun";
  EXPECT_EQ(chosen(world).version, "4.1.4");
  world.job.launcher = "/not/there";
  EXPECT_EQ(chosen(world).kind, "");
  EXPECT_EQ(world.layout().why.at(1), "no engine: /not/there does not exist on this machine");
  world.launcher.mpi.push_back({.launcher = "/not/there"});
  EXPECT_EQ(world.layout().why.at(1),
            "no engine: /not/there is not an MPI launcher that muster knows");
  world.job.launcher = "";
  world.job.engine = "mpich";
  EXPECT_EQ(chosen(world).launcher, "/m/bin/mpirun");
}

TEST(Engine, IsAnotherMpiWhereThereIsNoOpenMpi) {
  World world = good_world(2);
  world.launcher.mpi = {{.launcher = "/what/bin/mpirun"},
                        {.kind = "intel", .version = "2021.18", .launcher = "/i/bin/mpirun"}};
  EXPECT_EQ(chosen(world).kind, "intel");
  EXPECT_EQ(world.layout().why.at(1),
            "engine Intel MPI 2021.18 at /i/bin/mpirun: the first MPI on this machine");
  world.job.engine = "openmpi";
  EXPECT_EQ(chosen(world).kind, "");
}

TEST(Engine, FollowsTheLibraryOfTheProgram) {
  World world = good_world_with_program(2);
  world.launcher.mpi = {open_mpi("5.0.11"), open_mpi("4.1.4", "/usr")};
  for (int number : {1, 2}) world.host(number).program->libmpi_version = "4.1.2";
  const Layout layout = world.layout();
  EXPECT_EQ(layout.engine.version, "4.1.4");
  EXPECT_EQ(layout.why.at(1),
            "engine Open MPI 4.1.4 at /usr/bin/mpirun: the program is linked to Open MPI 4.1.2");
  world.job.launcher = "/opt/ompi/bin/mpirun";  // the user's choice takes precedence
  EXPECT_EQ(chosen(world).version, "5.0.11");
}

TEST(Engine, SlurmIsToldHowTheProgramsMpiMeetsIt) {
  World world = good_world_with_program(2);
  world.job.engine = "slurm";
  Engine engine = chosen(world);
  EXPECT_EQ(engine.kind, "slurm");
  EXPECT_EQ(engine.launcher, "srun");
  EXPECT_EQ(engine.pmi, "pmix");
  for (const std::string kind : {"mpich", "intel"}) {
    for (int number : {1, 2}) world.host(number).program->libmpi_kind = kind;
    engine = chosen(world);
    EXPECT_EQ(engine.pmi, "pmi2");
    EXPECT_EQ(engine.mpi, kind);
  }
  for (int number : {1, 2}) world.host(number).program.reset();
  EXPECT_EQ(chosen(world).pmi, "");  // the site's default
}

TEST(Engine, SlurmIsToldHowAPythonScriptsMpiMeetsIt) {
  World world = good_world(2);
  world.job.engine = "slurm";
  for (int number : {1, 2}) world.host(number).mpi = {open_mpi("4.1.4", "/usr")};
  EXPECT_EQ(chosen(world).pmi, "");  // the script does not mention MPI
  world.job.mpi_word = "\"mpi\"";
  EXPECT_EQ(chosen(world).pmi, "pmix");
  EXPECT_EQ(chosen(world).mpi, "openmpi");
  world.host(2).mpi.clear();
  EXPECT_EQ(chosen(world).pmi, "");
}

TEST(Engine, StaysWithTheFirstWhenTheLibraryFavoursNone) {
  World world = good_world_with_program(2);
  world.launcher.mpi = {open_mpi("5.0.11"), open_mpi("5.0.11", "/usr")};
  EXPECT_EQ(chosen(world).launcher, "/opt/ompi/bin/mpirun");
  for (int number : {1, 2}) world.host(number).program->libmpi_kind = "unknown";
  EXPECT_EQ(chosen(world).launcher, "/opt/ompi/bin/mpirun");
}

World with_torchrun(int hosts) {
  World world = good_world(hosts);
  for (int number = 1; number <= hosts; ++number) {
    world.host(number).torch = {.torchrun = "/venv/bin/torchrun", .version = "2.13.0+cpu"};
  }
  return world;
}

TEST(Engine, IsTorchrunForPythonWhereEveryHostHasIt) {
  World world = with_torchrun(2);
  world.job.program = {"/venv/bin/python3", "train.py"};
  EXPECT_EQ(chosen(world).kind, "torchrun");
  EXPECT_EQ(
      world.layout().why.at(1),
      "engine torchrun, PyTorch 2.13.0+cpu: the program is in Python, and every host has torchrun");
  world.job.program = {"./train"};
  EXPECT_EQ(chosen(world).kind, "openmpi");
  world.job.program = {"train.py"};
  EXPECT_EQ(chosen(world).kind, "torchrun");
  world.job.confine_store = true;  // torchrun cannot do that
  EXPECT_EQ(chosen(world).kind, "openmpi");
  world.job.confine_store = false;
  world.host(2).torch = {};
  EXPECT_EQ(chosen(world).kind, "openmpi");
}

TEST(Engine, IsAnMpiForPythonThatSpeaksOfIt) {
  World world = with_torchrun(2);
  world.job.program = {"python", "train.py"};
  world.job.mpi_word = "\"mpi\"";
  EXPECT_EQ(chosen(world).kind, "openmpi");
  EXPECT_TRUE(world.layout().why.at(1).ends_with(
      ": the program mentions MPI (\"mpi\"), which torchrun does not start"));
  world.job.mpi_word = "PMI_RANK";  // Open MPI does not set this variable
  EXPECT_EQ(chosen(world).kind, "torchrun");
  world.job.mpi_word = "OMPI_COMM_WORLD_RANK";
  EXPECT_EQ(chosen(world).kind, "openmpi");
  world.host(2).mpi.clear();
  EXPECT_EQ(chosen(world).kind, "torchrun");
  world.job.engine = "torchrun";
  EXPECT_EQ(chosen(world).kind, "torchrun");
}

TEST(Engine, IsTorchrunWhereThereIsNoMpi) {
  World world = with_torchrun(2);
  world.job.program = {"./train"};
  world.launcher.mpi.clear();
  EXPECT_EQ(chosen(world).kind, "torchrun");
}

TEST(Engine, IsChosenWithoutRegardToRestarts) {
  World world = with_torchrun(2);
  world.job.program = {"./train"};
  world.job.max_restarts = 2;
  world.job.min_nodes = 1;
  EXPECT_EQ(chosen(world).kind, "openmpi");
  EXPECT_EQ(world.layout().max_restarts, 0);  // muster itself restarts the run
  EXPECT_EQ(world.layout().min_hosts, 0);
  world.job.elastic = true;
  EXPECT_EQ(chosen(world).kind, "openmpi");
  EXPECT_EQ(world.layout().min_hosts, 0);
}

TEST(Engine, OnlyAnElasticTorchrunRestartsRanksItself) {
  World world = with_torchrun(2);
  world.job.engine = "torchrun";
  world.job.max_restarts = 2;
  world.job.min_nodes = 1;
  EXPECT_EQ(world.layout().max_restarts, 0);
  EXPECT_EQ(world.layout().min_hosts, 0);
  world.job.elastic = true;
  EXPECT_EQ(world.layout().max_restarts, 2);
  EXPECT_EQ(world.layout().min_hosts, 1);
}

TEST(Engine, InAPodRestartsRanksItselfAndNeedsAllPods) {
  World world = with_torchrun(1);
  world.job.engine = "pods";
  world.job.pods = 3;
  world.job.max_restarts = 2;
  EXPECT_EQ(world.layout().max_restarts, 2);
  world.job.min_nodes = 2;
  const auto refused = decide(world.job, world.cluster, world.surveys, world.launcher);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "a job in pods cannot continue with fewer pods");
}

TEST(Engine, InAPodCountsTheRanksOfAllPods) {
  World world = with_torchrun(1);
  world.job.engine = "pods";
  world.job.pods = 3;
  world.job.pod = 2;
  world.job.ranks_per_host = 4;
  const Layout layout = world.layout();
  EXPECT_EQ(layout.engine.kind, "pods");
  EXPECT_EQ(layout.ranks, 12);
  EXPECT_EQ(layout.placements.front().first_rank, 8);
}

TEST(Engine, OfMpichAndOfIntelSpeakTheSame) {
  EXPECT_TRUE(speak_the_same("mpich", "5.0.2", "intel", "2021.19"));
  EXPECT_FALSE(speak_the_same("mpich", "5.0.2", "openmpi", "5.0.2"));
  EXPECT_FALSE(speak_the_same("openmpi", "4.1.4", "openmpi", "5.0.11"));
  EXPECT_TRUE(speak_the_same("openmpi", "5.0.1", "openmpi", "5.0.11"));
  EXPECT_TRUE(speak_the_same("openmpi", "", "openmpi", "5.0.11"));
}

}  // namespace
}  // namespace muster::layout
