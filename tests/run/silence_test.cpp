// Runs that print nothing: what is done about them, and what is not.
#include <string>

#include <gtest/gtest.h>

#include "scene.hpp"

namespace muster::run {
namespace {

constexpr double kHangs = 1000;  // ranks that live until somebody ends them

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
  scene.later(33, [&] {  // between the question and the decision
    scene.hosts[0].send(
        {.kind = agent::Report::Kind::kOutput, .piece = {.rank = 0, .at = 6, .bytes = "again\n"}});
  });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
  EXPECT_TRUE(says(end.output, "0: again\n"));
}

}  // namespace
}  // namespace muster::run
