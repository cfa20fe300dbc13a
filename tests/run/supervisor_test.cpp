// A supervised run with engines, ranks and signals that misbehave.
#include "run/supervisor.hpp"

#include <algorithm>
#include <csignal>
#include <limits>

#include <gtest/gtest.h>

#include "exit_statuses.hpp"
#include "scene.hpp"

namespace muster::run {
namespace {

constexpr double kLong = 1000;  // lifetime of ranks that must be ended

agent::Report end_of(int rank, int status) {
  return {.kind = agent::Report::Kind::kEvent,
          .event = {.start = {}, .end = agent::RankEnd{.rank = rank, .status = status}}};
}

TEST(Supervisor, ARunThatGoesWellEndsAtOnceAndLeavesNothing) {
  Scene scene(3, 2);
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0);
  EXPECT_EQ(end.verdict.text, "");
  EXPECT_EQ(end.said, "");
  EXPECT_LT(end.took_s, 6);
  for (const char* line : {"0: hello\n", "3: hello\n", "5: hello\n"}) {
    EXPECT_TRUE(says(end.output, line));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(scene.hosts[i].orders(), "hello place begin end bye ");
  }
  EXPECT_EQ(end.keepers, 1);
  EXPECT_TRUE(says(end.keeper_input, "engine "));
  EXPECT_TRUE(end.keeper_input.ends_with("quit\n"));
}

TEST(Supervisor, WhatIsSaidTwiceIsTakenOnce) {
  Scene scene(3);
  for (std::size_t i = 0; i < 3; ++i) scene.hosts[i].behaviour.twice = true;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0);
  EXPECT_EQ(end.output.size(), std::string("0: hello\n1: hello\n2: hello\n").size());
}

TEST(Supervisor, TheFailedRankIsNamedAndItsCodeReturned) {
  Scene scene(3);
  scene.let_ranks_live(kLong);
  scene.hosts[1].behaviour.ranks_live_s = 2;
  scene.hosts[1].behaviour.status = kExit3;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 3);
  EXPECT_EQ(end.verdict.first_failed_rank, 1);
  EXPECT_TRUE(says(end.verdict.text, "rank 1 on n2 ended with exit code 3"));
  EXPECT_LT(end.took_s, 5);
}

TEST(Supervisor, AFailedRankWhoseReportComesLastIsStillTheFirst) {
  Scene scene(3);
  scene.let_ranks_live(kLong);
  scene.hosts[1].behaviour.ranks_live_s = 2;
  scene.hosts[1].behaviour.status = kExit3;
  scene.hosts[1].behaviour.answers_after_s = 4;  // the others report long before
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 3);
  EXPECT_TRUE(says(end.verdict.text, "rank 1 on n2"));
}

TEST(Supervisor, ARankThatHasToWaitForLongIsNamed) {
  Scene scene(3);
  scene.let_ranks_live(40);
  for (int i = 1; i <= 15; ++i) {
    scene.later(2.0 * i, [&scene, i] {
      // The second entry is about a rank of another host, and the third about none at all.
      scene.hosts[1].send({.kind = agent::Report::Kind::kBeat,
                           .clock_s = scene.loop.unix_time(),
                           .waited = {{.rank = 1, .seconds = 1.5 * i},
                                      {.rank = 0, .seconds = 1.5 * i},
                                      {.rank = 99, .seconds = 1.5 * i}}});
    });
  }
  const SceneEnd end = scene.play();
  EXPECT_TRUE(says(end.said, "muster: rank 1 on n2 prints faster than ")) << end.said;
  EXPECT_EQ(std::count(end.said.begin(), end.said.end(), '\n'), 1) << end.said;
}

TEST(Supervisor, EndsWithoutStartsCount) {
  Scene scene(3);
  scene.hosts[2].behaviour.leaves_out = {Point::kStart};
  EXPECT_EQ(scene.play().verdict.code, 0);
}

TEST(Supervisor, AHostThatIsDoneButReportsNoEndIsNotTakenForSuccess) {
  Scene scene(3);
  scene.hosts[1].behaviour.leaves_out = {Point::kRanks};
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_TRUE(says(end.verdict.text, "before rank 1")) << end.verdict.text;
}

TEST(Supervisor, AHostThatNeverSaysReadyIsNoReasonToStop) {
  Scene scene(3);
  scene.hosts[1].behaviour.leaves_out = {Point::kReady};
  EXPECT_EQ(scene.play().verdict.code, 0);
}

TEST(Supervisor, AHostThatNeverSaysDoneIsGivenUpAndNamed) {
  Scene scene(3);
  scene.hosts[1].behaviour.leaves_out = {Point::kDone};
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0);
  EXPECT_TRUE(says(end.said, "n2 has not confirmed that the run ended there"));
  EXPECT_FALSE(says(end.said, "n1 has"));
  EXPECT_LT(end.took_s, 5 + 33);
}

TEST(Supervisor, AnEngineThatStaysAfterItsRanksIsEnded) {
  Scene scene(3);
  scene.engine.stays = true;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.record.reason, Reason::kEngineStuck);
  EXPECT_EQ(end.verdict.code, 0);
  EXPECT_LT(end.took_s, 5 + 3 + 1);
}

TEST(Supervisor, AnEngineThatIgnoresSigtermIsKilled) {
  Scene scene(3);
  scene.engine.stays = true;
  scene.engine.ignores_sigterm = true;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0);
  EXPECT_LT(end.took_s, 5 + 3 + 2 + 1);
}

TEST(Supervisor, AnEngineThatCannotBeKilledIsLeftBehindWithAWord) {
  Scene scene(3);
  scene.engine.stays = true;
  scene.engine.cannot_be_killed = true;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0);
  EXPECT_TRUE(says(end.said, "does not end, although it was killed"));
  EXPECT_LT(end.took_s, 5 + 3 + 2 + 31);
}

TEST(Supervisor, AnEngineThatGoesOnAfterAFailedRankIsEnded) {
  Scene scene(3);
  scene.let_ranks_live(kLong);
  scene.engine.ends_the_others = false;
  scene.hosts[2].behaviour.ranks_live_s = 2;
  scene.hosts[2].behaviour.status = kExit3;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.record.reason, Reason::kRankFailed);
  EXPECT_EQ(end.verdict.code, 3);
  EXPECT_TRUE(says(end.verdict.text, "rank 2 on n3"));
  EXPECT_LT(end.took_s, 2 + 5 + 4);
}

TEST(Supervisor, AnEngineThatCannotBeStartedLeavesTheHostsInOrder) {
  Scene scene(3);
  scene.engine.cannot_start = true;
  const SceneEnd end = scene.play();
  EXPECT_FALSE(end.started);
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_TRUE(says(end.verdict.text, "cannot start 'engine'")) << end.verdict.text;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(scene.hosts[i].said_bye());
  EXPECT_LT(end.took_s, 1);
}

TEST(Supervisor, AnEngineThatDiesTakesTheBlame) {
  Scene scene(3);
  scene.let_ranks_live(kLong);
  scene.engine.dies_after_s = 2;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_TRUE(says(end.verdict.text, "ended with signal 11")) << end.verdict.text;
  EXPECT_LT(end.took_s, 5);
}

TEST(Supervisor, AnEngineThatStartsNoRankIsToldSo) {
  Scene scene(2);
  scene.engine.starts_nothing = true;
  scene.later(1, [&] { scene.end_engine("", 1); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_TRUE(says(end.verdict.text, "never started ranks 0, 1")) << end.verdict.text;
}

TEST(Supervisor, TheTimeLimitEndsTheRun) {
  Scene scene(3);
  scene.let_ranks_live(kLong);
  scene.patience.timeout_s = 100;
  scene.patience.spent_s = 90;  // seconds used by earlier attempts
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 124);
  EXPECT_TRUE(says(end.verdict.text, "100 s"));
  EXPECT_LT(end.took_s, 13);
}

TEST(Supervisor, ATimeLimitThatPassedBeforeTheStartStillEndsInOrder) {
  Scene scene(3);
  scene.patience.timeout_s = 100;
  scene.patience.spent_s = 101;
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 124);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(scene.hosts[i].said_bye());
}

// Sets up an elastic job, with one engine process per host, as with torchrun.
Scene& elastic(Scene& scene, int min_hosts) {
  scene.engine.one_per_host = true;
  scene.patience.engine_restarts = true;
  scene.patience.min_hosts = min_hosts;
  return scene;
}

TEST(Supervisor, AnElasticJobGoesOnWithoutALostHost) {
  Scene scene(3);
  elastic(scene, 2);
  scene.let_ranks_live(60);
  scene.later(5, [&] { scene.hosts[2].vanish(Gone::kSilent, 0); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0);
  EXPECT_EQ(end.verdict.text, "the job continued without n3, which was lost");
}

TEST(Supervisor, AnElasticJobEndsWhenTooFewHostsAreLeft) {
  Scene scene(3);
  elastic(scene, 2);
  scene.let_ranks_live(60);
  scene.later(5, [&] { scene.hosts[1].vanish(Gone::kSilent, 0); });
  scene.later(5, [&] { scene.hosts[2].vanish(Gone::kCut, 0); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_EQ(end.record.lost_hosts, (std::vector<std::string>{"n2", "n3"}));
  EXPECT_LT(end.took_s, 40);
}

TEST(Supervisor, AnEngineWhoseSshBreaksIsNotTakenForEnded) {
  Scene scene(3);
  elastic(scene, 0);
  scene.let_ranks_live(20);
  scene.later(5, [&] { scene.end_engine("n2", 255); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
  EXPECT_TRUE(end.record.engine_unseen);
  EXPECT_GT(end.took_s, 20);
}

TEST(Supervisor, AnEngineThatFailsOnOneHostEndsTheOthers) {
  Scene scene(3);
  elastic(scene, 0);
  scene.let_ranks_live(kLong);
  scene.later(5, [&] { scene.end_engine("n2", 1); });
  const SceneEnd end = scene.play();
  EXPECT_NE(end.verdict.code, 0);
  EXPECT_LT(end.took_s, 5 + 5 + 5);
}

// ---- Hosts that report about ranks that are not theirs

TEST(Supervisor, TheEndOfARankCountsOnlyFromTheHostThatStartedIt) {
  Scene scene(3);
  scene.later(2, [&] { scene.hosts[2].send(end_of(0, kExit3)); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
  EXPECT_EQ(end.record.ranks[0].host, "n1");
}

TEST(Supervisor, AStartOfAnothersRankChangesNothing) {
  Scene scene(3);
  scene.later(2, [&] {
    const agent::RankStart start{.rank = 0, .program = {.pid = 7, .start = 7}};
    scene.hosts[2].send(
        {.kind = agent::Report::Kind::kEvent, .event = {.start = start, .end = {}}});
    scene.hosts[2].send(end_of(0, kExit3));
  });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
}

// Before the engine has started anything, host number `liar` claims that the first `count` ranks
// have started and ended there.
void claim_ranks(Scene& scene, std::size_t liar, int count, int status) {
  scene.later(0.05, [&scene, liar, count, status] {
    for (int rank = 0; rank < count; ++rank) {
      const agent::RankStart start{.rank = rank, .program = {.pid = 70 + rank, .start = 7}};
      scene.hosts[liar].send(
          {.kind = agent::Report::Kind::kEvent, .event = {.start = start, .end = {}}});
      scene.hosts[liar].send(end_of(rank, status));
    }
  });
}

TEST(Supervisor, AHostThatIsFirstToStartAllRanksDoesNotEndThem) {
  Scene scene(3);
  scene.let_ranks_live(20);
  claim_ranks(scene, 2, 3, 0);
  const SceneEnd end = scene.play();
  EXPECT_GT(end.took_s, 19);
  EXPECT_EQ(end.record.ranks[0].host, "n1");
  EXPECT_EQ(end.record.ranks[1].host, "n2");
}

TEST(Supervisor, AFailureThatAHostOnlyClaimsDoesNotEndTheRun) {
  Scene scene(3);
  scene.let_ranks_live(20);
  claim_ranks(scene, 2, 1, 768);
  const SceneEnd end = scene.play();
  EXPECT_GT(end.took_s, 19);
  EXPECT_EQ(end.record.ranks[0].host, "n1");
}

TEST(Supervisor, OutputOfAnothersRankIsNotTaken) {
  Scene scene(3);
  scene.later(1, [&] {
    scene.hosts[2].send(
        {.kind = agent::Report::Kind::kOutput, .piece = {.rank = 0, .at = 6, .bytes = "forged\n"}});
  });
  const SceneEnd end = scene.play();
  EXPECT_TRUE(says(end.output, "0: hello"));
  EXPECT_FALSE(says(end.output, "forged")) << end.output;
}

// A report with output of rank 0, which the third host sends.
agent::Report output_of_0(const std::string& bytes) {
  return {.kind = agent::Report::Kind::kOutput, .piece = {.rank = 0, .at = 0, .bytes = bytes}};
}

TEST(Supervisor, OutputOfARankThatAHostOnlyClaimsIsNeverShown) {
  Scene scene(3);
  scene.let_ranks_live(20);
  claim_ranks(scene, 2, 1, 0);
  for (const double when_s : {0.06, 5.0}) {
    scene.later(when_s, [&] { scene.hosts[2].send(output_of_0("forged\n")); });
  }
  const SceneEnd end = scene.play();
  EXPECT_TRUE(says(end.output, "0: hello"));
  EXPECT_FALSE(says(end.output, "forged")) << end.output;
}

TEST(Supervisor, OutputOfARankOnAnUnexpectedHostIsShown) {
  Scene scene(3);
  const auto start = [](int rank) {
    const agent::RankStart life{.rank = rank, .program = {.pid = 70 + rank, .start = 7}};
    return agent::Report{.kind = agent::Report::Kind::kEvent, .event = {.start = life, .end = {}}};
  };
  scene.later(0.05, [&] {
    scene.hosts[2].send(start(0));
    scene.hosts[2].send(output_of_0("it is here\n"));
  });
  scene.later(0.06, [&] { scene.hosts[0].send(start(2)); });
  const SceneEnd end = scene.play();
  EXPECT_TRUE(says(end.output, "it is here")) << end.output;
}

TEST(Supervisor, ARankThatTheEngineMovedEndsOnItsNewHost) {
  Scene scene(3);
  elastic(scene, 0);
  scene.let_ranks_live(20);
  const agent::RankStart moved{.rank = 0, .program = {.pid = 7, .start = 7}};
  scene.later(2, [&] {
    scene.hosts[2].send(
        {.kind = agent::Report::Kind::kEvent, .event = {.start = moved, .end = {}}});
  });
  // n1 reports the end of the rank's earlier process.
  scene.later(3, [&] { scene.hosts[0].send(end_of(0, SIGKILL)); });
  scene.later(4, [&] { scene.hosts[2].send(end_of(0, 0)); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.record.ranks[0].host, "n3");
  EXPECT_EQ(end.record.ranks[0].end->status, 0);
}

TEST(Supervisor, AHostThatIsReachedAgainCannotTakeAMovedRankBack) {
  Scene scene(3);
  elastic(scene, 0);
  scene.let_ranks_live(20);
  const auto start = [](int pid, double time_s) {
    const agent::RankStart life{.rank = 0, .program = {.pid = pid, .start = 7}, .time_s = time_s};
    return agent::Report{.kind = agent::Report::Kind::kEvent, .event = {.start = life, .end = {}}};
  };
  scene.later(2, [&] { scene.hosts[2].send(start(7, 20)); });
  scene.later(3, [&] {  // after reconnecting, n1 repeats all its reports
    scene.hosts[0].send(start(5, 10));
    scene.hosts[0].send(end_of(0, SIGKILL));
  });
  scene.later(4, [&] { scene.hosts[2].send(end_of(0, 0)); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.record.ranks[0].host, "n3");
  EXPECT_EQ(end.record.ranks[0].end->status, 0);
  EXPECT_EQ(end.verdict.code, 0) << end.verdict.text;
}

TEST(Supervisor, RanksThatDoNotExistAreIgnored) {
  for (const int rank : {-1, 3, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    Scene scene(3);
    scene.later(1, [&] {
      scene.hosts[1].send(end_of(rank, kExit3));
      scene.hosts[1].send(
          {.kind = agent::Report::Kind::kOutput, .piece = {.rank = rank, .bytes = "x\n"}});
      scene.hosts[1].send(
          {.kind = agent::Report::Kind::kInspection, .view = {.ranks = {{.rank = rank}}}});
    });
    const SceneEnd end = scene.play();
    EXPECT_EQ(end.verdict.code, 0) << rank;
    EXPECT_FALSE(says(end.output, "x"));
  }
}

TEST(Supervisor, WordsOfAHostCannotMoveTheCursor) {
  Scene scene(2);
  scene.hosts[1].behaviour.says = {
      {Point::kStart, "{\"report\":\"failed\",\"text\":\"\\u001b[2Jgone\"}\n"}};
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_TRUE(says(end.verdict.text, "n2"));
  EXPECT_FALSE(says(end.verdict.text, "\x1b"));
}

TEST(Supervisor, WordsOfARankCannotEither) {
  Scene scene(2);
  scene.let_ranks_live(kLong);
  agent::Report end_report = end_of(1, 127 << 8);
  end_report.event.end->failure = "cannot run \x1b[2Jx";
  scene.later(1, [&] { scene.hosts[1].send(end_report); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 127);
  EXPECT_TRUE(says(end.verdict.text, "rank 1 on n2"));
  EXPECT_FALSE(says(end.verdict.text, "\x1b")) << end.verdict.text;
}

TEST(Supervisor, AHostThatReportsStartsWithoutEndIsGivenUp) {
  Scene scene(2);
  scene.let_ranks_live(kLong);
  scene.later(1, [&] {
    for (std::uint64_t i = 1; i < 2100; ++i) {
      const agent::RankStart start{.rank = 1, .size = 2, .program = {.pid = 5, .start = i}};
      scene.hosts[1].send(
          {.kind = agent::Report::Kind::kEvent, .event = {.start = start, .end = {}}});
    }
  });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 125);
  EXPECT_TRUE(says(end.verdict.text, "n2: it reports more starts of ranks")) << end.verdict.text;
}

TEST(Supervisor, AHostThatSpeaksForEverDoesNotKeepTheRunOpen) {
  Scene scene(2);
  scene.hosts[1].behaviour.leaves_out = {Point::kDone};
  std::uint64_t at = scene.hosts[1].behaviour.output.size();
  std::function<void()> speak = [&] {
    scene.hosts[1].send({.kind = agent::Report::Kind::kOutput,
                         .piece = {.rank = 1, .at = std::exchange(at, at + 2), .bytes = "x\n"}});
    scene.loop.after(2, speak);
  };
  scene.later(1, speak);
  const SceneEnd end = scene.play();
  EXPECT_FALSE(end.waited_for_ever);
  EXPECT_EQ(end.verdict.code, 0);
  EXPECT_TRUE(says(end.said, "n2 has not confirmed that the run ended there")) << end.said;
  EXPECT_LT(end.took_s, 620);
}

// ---- Signals in each phase

struct Interrupt {
  const char* name;
  double after_s;  // after the engine's start
  int signal;
  int code;
};

class Interrupted : public testing::TestWithParam<Interrupt> {};

TEST_P(Interrupted, EndsTheRunOnAllHosts) {
  Scene scene(3);
  scene.let_ranks_live(20);
  scene.later(GetParam().after_s, [&] { scene.loop.raise(GetParam().signal); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, GetParam().code);
  EXPECT_LT(end.took_s, GetParam().after_s + 4);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(scene.hosts[i].said_bye());
    EXPECT_FALSE(scene.hosts[i].running());
  }
}

INSTANTIATE_TEST_SUITE_P(Supervisor, Interrupted,
                         testing::Values(Interrupt{"before_ready", 0, SIGINT, 130},
                                         Interrupt{"before_the_ranks", 0.05, SIGINT, 130},
                                         Interrupt{"while_they_run", 10, SIGINT, 130},
                                         Interrupt{"terminated", 10, SIGTERM, 143},
                                         Interrupt{"hung_up", 10, SIGHUP, 129},
                                         Interrupt{"after_the_ranks", 20.15, SIGINT, 130},
                                         Interrupt{"after_the_engine", 20.205, SIGINT, 0}),
                         [](const auto& given) { return given.param.name; });

TEST(Supervisor, ASecondInterruptKillsTheEngine) {
  Scene scene(3);
  scene.let_ranks_live(kLong);
  scene.engine.ignores_sigterm = true;
  scene.later(5, [&] { scene.loop.raise(SIGINT); });
  scene.later(5.5, [&] { scene.loop.raise(SIGINT); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 130);
  EXPECT_EQ(end.record.engine_signal, SIGKILL);
  EXPECT_LT(end.took_s, 7);
}

TEST(Supervisor, ASecondInterruptLeavesTheRanksNoTime) {
  const auto time_to_end = [](bool twice) {
    Scene scene(3);
    scene.let_ranks_live(kLong);
    scene.later(5, [&] { scene.loop.raise(SIGINT); });
    if (twice) scene.later(5.1, [&] { scene.loop.raise(SIGINT); });
    const SceneEnd end = scene.play();
    EXPECT_EQ(end.verdict.code, 130);
    EXPECT_TRUE(says(end.said, "press Ctrl-C again"));
    EXPECT_EQ(says(scene.hosts[0].orders(), "end end"), twice);
    return end.took_s;
  };
  EXPECT_LT(time_to_end(true), time_to_end(false) - 0.5);
}

TEST(Supervisor, AnInterruptWhileAHostIsSilentEndsInBoundedTime) {
  Scene scene(3);
  scene.let_ranks_live(kLong);
  scene.later(5, [&] { scene.hosts[1].vanish(Gone::kSilent, 0); });
  scene.later(6, [&] { scene.loop.raise(SIGINT); });
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 130);
  EXPECT_LT(end.took_s, 5 + 15 + 3);
}

TEST(Supervisor, AnInterruptWhileAHostDoesNotEndItsRanksEndsInBoundedTime) {
  Scene scene(3);
  scene.let_ranks_live(kLong);
  scene.hosts[1].behaviour.deaf = true;
  for (const double at : {5.0, 6.0, 7.0, 8.0}) {
    scene.later(at, [&] { scene.loop.raise(SIGINT); });
  }
  const SceneEnd end = scene.play();
  EXPECT_EQ(end.verdict.code, 130);
  EXPECT_TRUE(says(end.said, "n2 has not confirmed"));
  EXPECT_LT(end.took_s, 5 + 33);
}

}  // namespace
}  // namespace muster::run
