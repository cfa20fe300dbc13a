// Whole runs with ten thousand hosts. If somebody adds a loop over hosts inside a loop over hosts,
// these tests exceed their time limit.
#include <csignal>

#include <gtest/gtest.h>

#include "scene.hpp"

namespace muster::run {
namespace {

// Without optimisation, the JSON parser is ten times slower, so only one test uses ten thousand
// hosts; with sanitisers, none does.
constexpr int kMost = MUSTER_MOST_HOSTS;
#ifdef NDEBUG
constexpr int kMany = kMost;
#else
constexpr int kMany = 1'000;
#endif

// The ranks print nothing, because writing their output to files would take most of the time.
struct ManyHosts : testing::Test {
  static void prepare(Scene& scene, double ranks_live_s) {
    scene.hosts.beat_every_s = 5;
    scene.let_ranks_live(ranks_live_s);
    for (std::size_t i = 0; i < scene.hosts.size(); ++i) scene.hosts[i].behaviour.output = "";
  }
};

TEST_F(ManyHosts, ARunThatGoesWell) {
  Scene scene(kMost);
  prepare(scene, 5);
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0);
  EXPECT_LT(end.took_s, 15);
  EXPECT_EQ(end.keepers, 1);
}

TEST_F(ManyHosts, TheOneThatDisappearsIsNamed) {
  Scene scene(kMany);
  prepare(scene, 900);
  scene.hosts[776].behaviour.gone_at = Point::kStart;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_EQ(end.verdict.text, "host n777 was lost with rank 776");
}

TEST_F(ManyHosts, HalfOfThemDisappear) {
  Scene scene(kMany);
  prepare(scene, 900);
  scene.later(3, [&] {
    for (std::size_t i = 0; i < kMany; i += 2) {
      scene.hosts[i].vanish(i % 4 == 0 ? Gone::kCut : Gone::kSilent, 0);
    }
  });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_EQ(end.record.lost_hosts.size(), kMany / 2);
}

TEST_F(ManyHosts, OurNetworkIsAwayAndBack) {
  Scene scene(kMany);
  prepare(scene, 60);
  scene.later(3, [&] {
    for (std::size_t i = 0; i < kMany; ++i) scene.hosts[i].vanish(Gone::kCut, 20);
  });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
  EXPECT_LE(end.keepers, 10);  // not one per host
}

TEST_F(ManyHosts, AStallIsLookedAt) {
  Scene scene(kMany);
  prepare(scene, 900);
  scene.patience.stall_after_s = 10;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.record.reason, Reason::kStalled);
  EXPECT_EQ(end.verdict.code, 124);
}

TEST_F(ManyHosts, AnInterruptReachesAll) {
  Scene scene(kMany);
  prepare(scene, 900);
  scene.later(1, [&] { scene.loop.raise(SIGINT); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 130);
  for (std::size_t i = 0; i < kMany; ++i) EXPECT_TRUE(scene.hosts[i].said_bye());
}

TEST_F(ManyHosts, OneEnginePerHost) {
  Scene scene(kMany);
  prepare(scene, 5);
  scene.engine.one_per_host = true;
  scene.patience.engine_restarts = true;
  EXPECT_EQ(scene.play().verdict.code, 0);
}

TEST_F(ManyHosts, SilentOnesAreNamedByTheSurvey) {
  Scene scene(kMany);
  for (std::size_t i = 0; i < kMany; i += 100) scene.hosts[i].behaviour.gone_at = Point::kHello;
  const SceneEnd end = scene.play();
  EXPECT_FALSE(end.started);
  for (std::size_t i = 0; i < kMany; ++i) {
    EXPECT_EQ(end.surveys[i].facts.has_value(), i % 100 != 0) << i;
  }
}

}  // namespace
}  // namespace muster::run
