// Runs that print nothing: when muster acts, and when it must not.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "scene.hpp"

namespace muster::run {
namespace {

constexpr double kHangs = 1000;  // lifetime of ranks that must be ended

TEST(Silence, AStalledRunIsEndedWithAVerdict) {
  Scene scene(3);
  scene.let_ranks_live(kHangs);
  scene.patience.stall_after_s = 30;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.record.reason, Reason::kStalled);
  EXPECT_EQ(end.verdict.code, 124);
  EXPECT_FALSE(end.record.stalled.empty());
  EXPECT_TRUE(says(end.verdict.text, end.record.stalled)) << end.verdict.text;
  EXPECT_TRUE(says(end.said, end.record.stalled)) << end.said;
  EXPECT_LT(end.took_s, 40);
}

TEST(Silence, AStalledRunIsEndedThoughOneHostDoesNotAnswer) {
  Scene scene(3);
  scene.let_ranks_live(kHangs);
  scene.hosts[1].behaviour.ignores_inspections = true;
  scene.patience.stall_after_s = 30;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.record.reason, Reason::kStalled);
  EXPECT_LT(end.took_s, 42);
}

TEST(Silence, AnIdleRunIsReportedOnceAndGoesOn) {
  Scene scene(2);
  scene.let_ranks_live(600);
  scene.patience.idle_after_s = 100;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
  const std::string words = "no rank has printed, communicated or computed for";
  const std::size_t first = end.said.find(words);
  ASSERT_NE(first, std::string::npos) << end.said;
  EXPECT_EQ(end.said.find(words, first + 1), std::string::npos) << end.said;
}

TEST(Silence, AnIdleRunIsEndedIfThatIsWanted) {
  Scene scene(2);
  scene.let_ranks_live(600);
  scene.patience.idle_after_s = 100;
  scene.patience.end_if_idle = true;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.record.reason, Reason::kStalled);
  EXPECT_LT(end.took_s, 180);
}

TEST(Silence, ARunThatComputesInSilenceIsNotIdle) {
  Scene scene(2);
  scene.let_ranks_live(600);
  scene.patience.idle_after_s = 100;
  scene.patience.end_if_idle = true;
  scene.hosts[1].behaviour.computes = true;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
  EXPECT_FALSE(says(end.said, "communicated")) << end.said;
}

TEST(Silence, ARunThatWorksAgainWhenItIsLookedAtIsNotEnded) {
  Scene scene(2);
  scene.let_ranks_live(600);
  scene.patience.idle_after_s = 100;
  scene.patience.end_if_idle = true;
  scene.hosts[1].behaviour.computes_in_whole_looks = true;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
  EXPECT_FALSE(says(end.said, "communicated")) << end.said;
}

TEST(Silence, ARunIsNotIdleThatWasNotSeenWhole) {
  for (const bool answers : {true, false}) {
    Scene scene(2);
    scene.let_ranks_live(600);
    scene.patience.idle_after_s = 100;
    scene.patience.end_if_idle = true;
    scene.hosts[1].behaviour.not_watched = answers;
    scene.hosts[1].behaviour.ignores_inspections = !answers;
    const SceneEnd end = scene.play();
    EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
    EXPECT_FALSE(says(end.said, "communicated")) << end.said;
  }
}

// What `muster why --slow --for 10m` asks for.
constexpr agent::Inspection kTenMinutes{.window_ms = 600'000};

struct Asked {
  int answers = 0;
  std::string error = {};
};

std::function<void(Supervisor&)> ask_long(Asked& asked) {
  return [&asked](Supervisor& supervisor) {
    supervisor.inspect(kTenMinutes, Urgency::kUser, [&asked](const auto& seen) {
      ++asked.answers;
      if (!seen) asked.error = seen.error().what;
    });
  };
}

TEST(Silence, AUserWhoWatchesTheRunDoesNotKeepItFromBeingEnded) {
  Scene scene(2);
  scene.let_ranks_live(kHangs);
  scene.patience.stall_after_s = 30;
  Asked asked;
  scene.ask(10, ask_long(asked));
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.record.reason, Reason::kStalled);
  EXPECT_LT(end.took_s, 42);
  EXPECT_EQ(asked.answers, 1);
  EXPECT_TRUE(says(asked.error, "muster itself had to inspect")) << asked.error;
}

TEST(Silence, AUserWhoWatchesTheRunLearnsAtOnceThatItEnded) {
  Scene scene(2);
  scene.let_ranks_live(20);
  Asked asked;
  scene.ask(10, ask_long(asked));
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0);
  EXPECT_LT(end.took_s, 30);
  EXPECT_EQ(asked.answers, 1);
  EXPECT_TRUE(says(asked.error, "the run ended")) << asked.error;
}

TEST(Silence, TheSecondUserIsToldToWait) {
  Scene scene(2);
  scene.let_ranks_live(20);
  Asked first;
  Asked second;
  scene.ask(10, ask_long(first));
  scene.ask(11, ask_long(second));
  (void)scene.play();
  EXPECT_TRUE(says(second.error, "another inspection of this run is under way")) << second.error;
}

TEST(Silence, ATimeOutIsLookedAtBeforeTheEngineEndsTheOthers) {
  Scene scene(2);
  scene.let_ranks_live(kHangs);
  scene.hosts[0].behaviour.ranks_live_s = 20;
  scene.hosts[0].behaviour.status = 1 << 8;
  scene.hosts[0].behaviour.timed_out = true;
  scene.engine.ends_the_others = false;
  Asked asked;
  scene.ask(10, ask_long(asked));
  const SceneEnd end = scene.play();
  EXPECT_TRUE(says(end.said, "rank 0 ended with a time-out")) << end.said;
  EXPECT_TRUE(end.record.time_out_was_seen);
  EXPECT_TRUE(says(scene.hosts[0].orders(), "seen "));
  EXPECT_EQ(asked.answers, 1);
  // The engine does not learn of the rank's end before the inspection is over.
  EXPECT_GT(end.took_s, 28);
  EXPECT_LT(end.took_s, 40);
}

void let_two_hosts_fail(Scene& scene, bool timed_out) {
  scene.let_ranks_live(kHangs);
  scene.hosts[0].behaviour.ranks_live_s = 20;
  scene.hosts[0].behaviour.status = 1 << 8;
  scene.hosts[0].behaviour.cut_off = true;
  scene.hosts[1].behaviour.ranks_live_s = 20.3;
  scene.hosts[1].behaviour.status = 1 << 8;
  scene.hosts[1].behaviour.timed_out = timed_out;
  scene.engine.ends_the_others = false;
}

TEST(Silence, RanksThatATimeOutCutOffAreHeldUntilMusterHasLooked) {
  Scene scene(3);
  let_two_hosts_fail(scene, true);
  const SceneEnd end = scene.play();
  EXPECT_TRUE(says(end.said, "rank 1 ended with a time-out")) << end.said;
  const std::string orders = scene.hosts[0].orders();
  EXPECT_LT(orders.find("inspect "), orders.find("seen ")) << orders;
}

TEST(Silence, RanksThatAFailureCutOffAreNotHeld) {
  Scene scene(3);
  let_two_hosts_fail(scene, false);
  (void)scene.play();
  EXPECT_FALSE(says(scene.hosts[0].orders(), "inspect ")) << scene.hosts[0].orders();
  EXPECT_TRUE(says(scene.hosts[0].orders(), "seen "));
}

TEST(Silence, NothingIsLookedAtWhenTheLastRankEndsWithATimeOut) {
  Scene scene(1);
  scene.let_ranks_live(20);
  scene.hosts[0].behaviour.status = 1 << 8;
  scene.hosts[0].behaviour.timed_out = true;
  const SceneEnd end = scene.play();
  EXPECT_FALSE(says(scene.hosts[0].orders(), "inspect ")) << scene.hosts[0].orders();
  EXPECT_TRUE(says(scene.hosts[0].orders(), "seen "));
}

TEST(Silence, NothingIsReportedOfAnIdleRunIfNobodyWantsIt) {
  Scene scene(2);
  scene.let_ranks_live(2000);
  scene.patience.idle_after_s = 0;
  const SceneEnd end = scene.play();
  EXPECT_FALSE(says(end.said, "communicated")) << end.said;
}

TEST(Silence, ARunThatFindsItsVoiceAgainWhileItIsInspectedGoesOn) {
  Scene scene(2);
  scene.let_ranks_live(60);
  scene.hosts[1].behaviour.ignores_inspections = true;
  scene.patience.stall_after_s = 30;
  scene.later(33, [&] {  // after the inspection began and before its verdict
    scene.hosts[0].send(
        {.kind = agent::Report::Kind::kOutput, .piece = {.rank = 0, .at = 6, .bytes = "again\n"}});
  });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
  EXPECT_TRUE(says(end.output, "0: again\n"));
}

}  // namespace
}  // namespace muster::run
