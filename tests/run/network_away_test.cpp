// Connections that break and come back: of one host, of all hosts, and of the launcher itself.
#include <gtest/gtest.h>

#include "scene.hpp"

namespace muster::run {
namespace {

void all_vanish(Scene& scene, double at, double seconds) {
  scene.later(at, [&scene, seconds] {
    for (std::size_t i = 0; i < scene.hosts.size(); ++i) {
      scene.hosts[i].vanish(Gone::kSilent, seconds);
    }
  });
}

TEST(NetworkAway, AConnectionThatBreaksIsMadeAnewAndNothingIsLostOrRepeated) {
  Scene scene(3);
  scene.let_ranks_live(30);
  scene.later(5, [&] { scene.hosts[1].vanish(Gone::kCut, 8); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
  EXPECT_GE(scene.hosts[1].sessions(), 2);
  EXPECT_EQ(scene.hosts[0].sessions(), 1);
  EXPECT_EQ(end.output.find("1: hello"), end.output.rfind("1: hello"));
  EXPECT_EQ(end.keepers, 2);  // muster gives the second one the new connection
  EXPECT_TRUE(says(end.keeper_input, "engine "));
}

TEST(NetworkAway, AConnectionThatDiesSilentlyIsReplaced) {
  Scene scene(3);
  scene.let_ranks_live(30);
  scene.later(5, [&] { scene.hosts[1].vanish(Gone::kSilent, 10); });
  EXPECT_EQ(scene.play().verdict.code, 0);
}

TEST(NetworkAway, AnOutageOfTheLaunchersNetworkIsSurvived) {
  Scene scene(3);
  scene.let_ranks_live(90);
  all_vanish(scene, 5, 40);  // longer than a host may stay silent
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
  EXPECT_TRUE(end.record.lost_hosts.empty());
  EXPECT_LE(end.keepers, 3);
}

TEST(NetworkAway, AnOutageLongerThanTheHostsWaitEndsTheRunOnce) {
  Scene scene(3);
  scene.let_ranks_live(900);
  all_vanish(scene, 5, 0);
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_EQ(end.record.lost_hosts, (std::vector<std::string>{"n1", "n2", "n3"}));
  EXPECT_TRUE(says(end.verdict.text, "so this machine's network was probably down; hosts n"))
      << end.verdict.text;
  EXPECT_LT(end.took_s, 5 + 60 + 5);
}

TEST(NetworkAway, AHostThatStaysAwayWhenTheOthersAreBackIsLost) {
  Scene scene(3);
  scene.let_ranks_live(300);
  all_vanish(scene, 5, 30);
  scene.later(35.5, [&] { scene.hosts[2].vanish(Gone::kSilent, 0); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_EQ(end.record.lost_hosts, std::vector<std::string>{"n3"});
  EXPECT_LT(end.took_s, 35 + 15 + 8);
}

TEST(NetworkAway, OneSilentHostAloneIsNotTakenForOurOwnNetwork) {
  Scene scene(1);
  scene.let_ranks_live(900);
  all_vanish(scene, 5, 40);
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_TRUE(says(end.verdict.text, "host n1 was lost with rank 0"));
  EXPECT_LT(end.took_s, 5 + 15 + 5);
}

TEST(NetworkAway, ALauncherThatStoodStillForgivesTheSilence) {
  Scene scene(3);
  scene.let_ranks_live(90);
  scene.later(10, [&] { scene.loop.stand_still(40); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
  EXPECT_TRUE(end.record.lost_hosts.empty());
}

TEST(NetworkAway, ALauncherThatStoodStillTooLongFindsTheRunOverAndEndsAtOnce) {
  Scene scene(3);
  scene.let_ranks_live(900);
  scene.later(10, [&] {
    for (std::size_t i = 0; i < 3; ++i) {
      scene.hosts[i].behaviour.forgets = true;  // meanwhile the wardens have ended the run
      scene.hosts[i].vanish(Gone::kCut, 100);
    }
    scene.loop.stand_still(200);
  });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_TRUE(says(end.verdict.text, "muster was stopped, for 20")) << end.verdict.text;
  EXPECT_FALSE(says(end.said, "has not confirmed")) << end.said;
  EXPECT_LT(end.took_s, 210 + 10);
}

void sleep_too_long(Scene& scene) {
  for (std::size_t i = 0; i < scene.hosts.size(); ++i) {
    scene.hosts[i].behaviour.forgets = true;  // meanwhile the wardens have ended the run
    scene.hosts[i].vanish(Gone::kCut, 1);
  }
  scene.loop.suspend(7200);
}

TEST(NetworkAway, ALauncherThatSleptTooLongSaysWhyTheRunIsOver) {
  Scene scene(3);
  scene.let_ranks_live(900);
  scene.later(10, [&] { sleep_too_long(scene); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_TRUE(says(end.verdict.text, "asleep, or muster was stopped, for 720")) << end.verdict.text;
  EXPECT_TRUE(says(end.verdict.text, "the hosts wait 60 s")) << end.verdict.text;
}

TEST(NetworkAway, TheEngineThatEndsFirstAfterALongSleepIsNotBlamed) {
  Scene scene(3);
  scene.let_ranks_live(900);
  scene.later(10, [&] {
    sleep_too_long(scene);
    scene.end_engine("", 143);
  });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_TRUE(says(end.verdict.text, "asleep, or muster was stopped, for 720")) << end.verdict.text;
}

TEST(NetworkAway, AShortSleepIsNotBlamedForWhatFailsLater) {
  Scene scene(3);
  scene.let_ranks_live(900);
  scene.later(10, [&] { scene.loop.suspend(50); });
  scene.later(20, [&] { scene.end_engine("", 143); });
  const SceneEnd end = scene.play();
  EXPECT_FALSE(says(end.verdict.text, "asleep")) << end.verdict.text;
}

TEST(NetworkAway, TheOnlyHostGetsLongerToAnswerAfterASleep) {
  Scene scene(1);
  scene.let_ranks_live(90);
  scene.later(10, [&] {
    scene.hosts[0].vanish(Gone::kSilent, 40);  // this machine's network needs time to come back
    scene.loop.suspend(10);
  });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
}

TEST(NetworkAway, AHostThatWasBootedIsNamedAtOnce) {
  Scene scene(3);
  scene.let_ranks_live(900);
  scene.hosts[1].behaviour.forgets = true;
  scene.later(5, [&] { scene.hosts[1].vanish(Gone::kCut, 6); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_TRUE(says(end.verdict.text, "n2: the run has already ended")) << end.verdict.text;
  EXPECT_LT(end.took_s, 5 + 6 + 8);
}

TEST(NetworkAway, GarbageEndsTheConnectionAndNotTheRun) {
  Scene scene(3);
  scene.let_ranks_live(30);
  scene.later(5, [&] {
    scene.hosts[1].send(
        "\x1e"
        "999999999 {}\n");
  });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
  EXPECT_GE(scene.hosts[1].sessions(), 2);
}

TEST(NetworkAway, AHostThatSendsNothingButGarbageIsLost) {
  Scene scene(3);
  scene.let_ranks_live(900);
  scene.later(5, [&] {
    scene.hosts[1].behaviour.says = {{Point::kHello,
                                      "\x1e"
                                      "999999999 {}\n"}};
    scene.hosts[1].behaviour.leaves_out = {Point::kReady};
    scene.hosts[1].send(
        "\x1e"
        "many {}\n");
  });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_TRUE(says(end.verdict.text, "n2"));
  EXPECT_LT(end.took_s, 5 + 15 + 8);
}

TEST(NetworkAway, ReportsOfAnotherVersionAreIgnored) {
  Scene scene(3);
  scene.later(1, [&] {
    scene.hosts[1].send("{\"report\":\"weather\"}\n{\"report\":\"event\",\"event\":\"{}\"}\nhi\n");
  });
  EXPECT_EQ(scene.play().verdict.code, 0);
}

TEST(NetworkAway, AHostThatComesBackAfterItWasLostChangesNothing) {
  Scene scene(3);
  scene.let_ranks_live(900);
  scene.later(5, [&] { scene.hosts[1].vanish(Gone::kSilent, 17); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_EQ(end.record.lost_hosts, std::vector<std::string>{"n2"});
}

// With many hosts, minutes can pass between the first host's facts and the start of the job.
TEST(NetworkAway, AHostIsNotLostBecauseItsSurveyWasLongBeforeTheStart) {
  Scene scene(3);
  scene.let_ranks_live(60);
  scene.crew.fan_out = 1;
  scene.hosts[0].behaviour.answers_after_s = 10;
  scene.hosts[1].behaviour.answers_after_s = 10;
  const SceneEnd end = scene.play();
  EXPECT_GT(end.survey_s, scene.patience.lost_after_s);
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
  EXPECT_TRUE(end.record.lost_hosts.empty());
}

}  // namespace
}  // namespace muster::run
