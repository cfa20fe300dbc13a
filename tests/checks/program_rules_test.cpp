#include <gtest/gtest.h>

#include "checks/judged.hpp"

namespace muster::checks {
namespace {

using layout::open_mpi;

TEST(Engine, IsMissingHere) {
  World world = good_world(2);
  world.launcher.mpi = {{.kind = "mpich", .version = "5.0.2", .launcher = "/m/bin/mpirun"}};
  ASSERT_EQ(brief(world), "error all remote-daemon-not-in-path");
  EXPECT_EQ(judged(world).front().evidence, "found MPICH 5.0.2 at /m/bin/mpirun");
}

TEST(Engine, ThatWasNamedIsNotThereOrNone) {
  World world = good_world(2);
  world.job.launcher = "/bin/nothere";
  ASSERT_EQ(brief(world), "error all remote-daemon-not-in-path");
  EXPECT_TRUE(has(judged(world).front().what, "/bin/nothere is not there on this machine"));
  EXPECT_TRUE(has(judged(world).front().fix, "--launcher"));
  world.launcher.mpi.push_back({.launcher = "/bin/nothere"});
  EXPECT_EQ(judged(world).front().what,
            "/bin/nothere on this machine is no MPI launcher that is known");
}

TEST(Engine, IsMissingOnAHost) {
  World world = good_world(3);
  world.host(2).mpi = {open_mpi("5.0.11", "/elsewhere")};
  ASSERT_EQ(brief(world), "error n2 remote-daemon-not-in-path");
  EXPECT_EQ(judged(world).front().evidence, "found Open MPI 5.0.11 at /elsewhere/bin/mpirun");
}

TEST(Engine, DiffersOnAHost) {
  World world = good_world(3);
  world.host(3).mpi = {open_mpi("5.1.0")};
  ASSERT_EQ(brief(world), "error n3 ompi-version-mismatch");
  EXPECT_EQ(judged(world).front().evidence, "Open MPI 5.1.0 there, Open MPI 5.0.11 here");
  world.host(3).mpi = {open_mpi("5.0.6")};
  EXPECT_EQ(brief(world), "warning n3 ompi-version-mismatch");
  world.host(3).mpi = {open_mpi("5.0.11")};
  world.host(3).mpi[0].library.hash = "another";
  EXPECT_EQ(brief(world), "warning n3 ompi-version-mismatch");
  world.host(3).mpi[0].library.hash = "";  // not read: nothing is known
  EXPECT_EQ(brief(world), "");
  world.host(3).mpi[0].kind = "mpich";
  EXPECT_EQ(brief(world), "error n3 ompi-version-mismatch");
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
            "its MPI has the same version as on this machine but is another build");
}

TEST(Program, IsMissing) {
  World world = good_world_with_program(3);
  world.host(2).program = facts::Program{.name = "/opt/job/train"};
  ASSERT_EQ(brief(world), "error n2 remote-exe-not-found");
  EXPECT_TRUE(has(judged(world).front().fix, "  muster sync -H n2 /opt/job"));
  world.host(2).program->name = "train";
  world.host(2).environment.seen["PATH"] = "/bin";
  EXPECT_EQ(judged(world).front().evidence, "PATH is /bin");
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
  world.host(2).program->identity.hash = "p2";  // neither is the usual one
  EXPECT_EQ(judged(world).front().what, "the program is not the same as on n1");
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
  EXPECT_TRUE(
      has(judged(world).front().fix, "\n  muster exec -H n2 -- '. /opt/venv/bin/activate'"));
}

TEST(Environment, DiffersInVariablesWhoseValuesAreNotTold) {
  World world = activated(3);
  world.host(3).environment.seen["PATH"] = "/usr/bin";
  world.host(3).environment.digest = {{"PATH", "d9"}, {"SECRET", "d3"}};
  world.host(1).environment.digest["HOSTNAME"] = "d4";  // differs by its nature
  ASSERT_EQ(brief(world), "warning n3 nccl-env-differs-per-host");
  EXPECT_EQ(judged(world).front().evidence, "NCCL_DEBUG (not set), PATH=/usr/bin, SECRET");
}

}  // namespace
}  // namespace muster::checks
