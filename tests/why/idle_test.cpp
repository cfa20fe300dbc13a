#include "why/idle.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "scenes.hpp"

namespace muster::why {
namespace {

using Life = RankState::Life;

// Rank 1 of 2 computes while an operation of this backend is pending.
SceneBuilder pending_with(const std::string& backend) {
  SceneBuilder scene(2);
  scene.in(1, "all_reduce", 12, 50).doing(1, "R", "", 1);
  scene.group(1).backend = backend;
  return scene;
}

TEST(IsIdle, IfEveryRunningRankWasSeenAndIsStill) {
  SceneBuilder scene(3);
  EXPECT_TRUE(is_idle(scene));
  scene.in(0, "all_reduce", 12, 50);
  scene.process(0).io_bytes = 900;
  EXPECT_TRUE(is_idle(scene));
  scene.state(2).life = Life::kEnded;
  scene.scene().hosts.erase("n3");
  EXPECT_TRUE(is_idle(scene));
  EXPECT_FALSE(is_idle(Scene{}));
}

TEST(IsIdle, IsFalseIfARankWasNotSeen) {
  SceneBuilder silent(3);
  silent.scene().hosts.erase("n2");
  EXPECT_FALSE(is_idle(silent));
  SceneBuilder failed(3);
  failed.scene().hosts.at("n2") = {.not_seen = {"the inspection is unreadable"}};
  EXPECT_FALSE(is_idle(failed));
  SceneBuilder without_processes(3);
  without_processes.rank(1).processes.clear();
  EXPECT_FALSE(is_idle(without_processes));
}

TEST(IsIdle, IsFalseIfARankWorks) {
  EXPECT_FALSE(is_idle(SceneBuilder(3).doing(1, "R", "", 0.5)));
  SceneBuilder reads(3);
  reads.process(1).io_bytes = 1 << 20;
  EXPECT_FALSE(is_idle(reads));
  SceneBuilder advances = SceneBuilder(3).others_in(-1, "all_reduce", 12, 0);
  advances.group(2).begun_before = 11;
  EXPECT_FALSE(is_idle(advances));
}

TEST(IsIdle, KnowsWhichBackendsSpin) {
  EXPECT_TRUE(is_idle(pending_with("mpi")));
  EXPECT_TRUE(is_idle(pending_with("nccl")));
  // With Gloo, a waiting rank sleeps, so a rank that computes does other work.
  EXPECT_FALSE(is_idle(pending_with("gloo")));
  EXPECT_FALSE(is_idle(pending_with("")));
  SceneBuilder reads = pending_with("mpi");
  reads.process(1).io_bytes = 1 << 20;
  EXPECT_FALSE(is_idle(reads));
}

TEST(IsIdle, SurvivesHostileNumbers) {
  for (const double cpu : {1e308, -1e308, std::numeric_limits<double>::infinity(), std::nan("")}) {
    SceneBuilder scene(1);
    scene.rank(0).processes.resize(3, scene.process(0));
    for (inspect::Process& process : scene.rank(0).processes) {
      process.cpu = cpu;
      process.io_bytes = cpu > 0 ? INT64_MAX : INT64_MIN;
    }
    EXPECT_EQ(is_idle(scene), !(cpu > 0));
  }
}

}  // namespace
}  // namespace muster::why
