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

TEST(Engine, IsTheFirstOpenMpiUnlessOneIsNamed) {
  World world = good_world(2);
  world.launcher.mpi = {{.kind = "mpich", .version = "5.0.2", .launcher = "/m/bin/mpirun"},
                        open_mpi("5.0.11"),
                        open_mpi("4.1.4", "/usr")};
  EXPECT_EQ(chosen(world).launcher, "/opt/ompi/bin/mpirun");
  EXPECT_EQ(chosen(world).major, 5);
  world.job.launcher = "/usr/bin/mpirun";
  EXPECT_EQ(chosen(world).version, "4.1.4");
  world.job.launcher = "/not/there";
  EXPECT_EQ(chosen(world).kind, "");
  EXPECT_EQ(world.layout().why.at(1), "no engine: /not/there is not there");
  world.launcher.mpi.push_back({.launcher = "/not/there"});
  EXPECT_EQ(world.layout().why.at(1),
            "no engine: /not/there is not an MPI launcher that muster knows");
  world.job.launcher = "";
  world.job.engine = "mpich";
  EXPECT_EQ(chosen(world).launcher, "/m/bin/mpirun");
}

TEST(Engine, FollowsTheLibraryOfTheProgram) {
  World world = good_world_with_program(2);
  world.launcher.mpi = {open_mpi("5.0.11"), open_mpi("4.1.4", "/usr")};
  for (int number : {1, 2}) world.host(number).program->libmpi_version = "4.1.2";
  const Layout layout = world.layout();
  EXPECT_EQ(layout.engine.version, "4.1.4");
  EXPECT_EQ(layout.why.at(1),
            "engine Open MPI 4.1.4 at /usr/bin/mpirun: the program is linked to Open MPI 4.1.2");
  world.job.launcher = "/opt/ompi/bin/mpirun";  // the user's word wins
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
  EXPECT_EQ(chosen(world).pmi, "");  // the site's
}

TEST(Engine, StaysWithTheFirstWhenTheLibraryFavoursNone) {
  World world = good_world_with_program(2);
  world.launcher.mpi = {open_mpi("5.0.11"), open_mpi("5.0.11", "/usr")};
  EXPECT_EQ(chosen(world).launcher, "/opt/ompi/bin/mpirun");
  for (int number : {1, 2}) world.host(number).program->libmpi_kind = "unknown";
  EXPECT_EQ(chosen(world).launcher, "/opt/ompi/bin/mpirun");
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
