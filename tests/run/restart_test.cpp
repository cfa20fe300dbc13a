#include "run/restart.hpp"

#include <csignal>

#include <gtest/gtest.h>

#include "exit_statuses.hpp"

namespace muster::run {
namespace {

Attempt crash(int rank, const std::string& host, int status = kExit3, double lived_s = 2) {
  return {.id = "r1",
          .code = 3,
          .text = "rank " + std::to_string(rank) + " failed",
          .failed_rank = rank,
          .failed_status = status,
          .failed_host = host,
          .lived_s = lived_s};
}

Attempt loss(const std::string& host) {
  return {.id = "r1",
          .reason = Reason::kHostLost,
          .code = 125,
          .text = "host " + host + " was lost",
          .lost_hosts = {host},
          .lived_s = 10};
}

Decision decided(const std::vector<Attempt>& attempts, int most = 9, bool spares = false) {
  return decide_restart(attempts, {.most = most, .spares = spares});
}

TEST(Restart, AFailedRankIsStartedAgainAndALostHostLeft) {
  const Decision again = decided({crash(1, "n2")});
  EXPECT_TRUE(again.again);
  EXPECT_EQ(again.why, "rank 1 failed");
  EXPECT_EQ(again.wait_s, 1);
  EXPECT_EQ(back_off_s(5, 3), 3);
  EXPECT_TRUE(again.bad_hosts.empty());
  EXPECT_EQ(decided({loss("n2")}).bad_hosts, (std::vector<BadHost>{{.host = "n2", .why = "lost"}}));
}

TEST(Restart, SomeEndsAreFinal) {
  EXPECT_FALSE(decided({{.id = "r1"}}).again);  // every rank succeeded
  for (const Reason reason : {Reason::kInterrupted, Reason::kTimeout}) {
    EXPECT_FALSE(decided({{.id = "r1", .reason = reason, .code = 130}}).again);
  }
  Attempt not_there = crash(0, "n1");
  not_there.cannot_run = true;
  EXPECT_FALSE(decided({not_there}).again);
  EXPECT_FALSE(decided({crash(0, "n1")}, 0).again);  // no restarts were requested
  EXPECT_EQ(decided({crash(0, "n1")}, 0).why, "");
}

TEST(Restart, OtherReasonsAreNot) {
  for (const Reason reason : {Reason::kStalled, Reason::kAgentFailed, Reason::kEngineEnded}) {
    EXPECT_TRUE(decided({{.id = "r1", .reason = reason, .code = 125, .text = "it"}}).again);
  }
}

TEST(Restart, WhenAllAreUsedUpTheVerdictStands) {
  const Decision over = decided({crash(1, "n2"), crash(2, "n3"), crash(1, "n2")}, 2);
  EXPECT_FALSE(over.again);
  EXPECT_FALSE(over.crash_loop);
  EXPECT_EQ(over.why, "2 restarts were made and no more are allowed; the last attempt:");
}

TEST(Restart, TheSameFailureThreeTimesIsACrashLoop) {
  const Decision loop = decided({crash(2, "n1"), crash(2, "n3"), crash(2, "n3", kExit3, 4.2)});
  EXPECT_FALSE(loop.again);
  EXPECT_TRUE(loop.crash_loop);
  EXPECT_EQ(loop.why,
            "crash loop: rank 2 ended with exit code 3 in 3 attempts in a row, each within 5 s");
}

TEST(Restart, WhatIsNoCrashLoop) {
  EXPECT_TRUE(decided({crash(2, "n1"), crash(2, "n1"), crash(1, "n1")}).again);
  EXPECT_TRUE(decided({crash(2, "n1"), crash(2, "n1"), crash(2, "n1", kExit4)}).again);
  EXPECT_TRUE(decided({crash(2, "n1", kExit3, 400), crash(2, "n1"), crash(2, "n1")}).again);
  // One attempt made progress earlier, so the present obstacle may be temporary.
  EXPECT_TRUE(
      decided({crash(0, "n1", kExit3, 400), crash(2, "n1"), crash(2, "n1"), crash(2, "n1")}).again);
  EXPECT_TRUE(decided({loss("n1"), loss("n2"), loss("n3")}).again);
}

TEST(Restart, AnEngineThatFailsInTheSameWordsIsALoopToo) {
  const Attempt engine{
      .id = "r1", .code = 125, .text = "the engine never started rank 1", .lived_s = 1};
  EXPECT_TRUE(decided({engine, engine, engine}).crash_loop);
  Attempt other = engine;
  other.text = "the engine ended with signal 9";
  EXPECT_TRUE(decided({engine, other, engine}).again);
}

TEST(Restart, BacksOffUntilAnAttemptHasLivedLong) {
  std::vector<Attempt> attempts;
  std::vector<double> waits;
  for (int i = 0; i < 7; ++i) {
    attempts.push_back(crash(i, "n1"));
    waits.push_back(decided(attempts).wait_s);
  }
  EXPECT_EQ(waits, (std::vector<double>{1, 2, 4, 8, 16, 30, 30}));
  attempts.push_back(crash(0, "n1", kExit3, 301));
  EXPECT_EQ(decided(attempts).wait_s, 1);
  attempts.push_back(crash(1, "n1"));
  EXPECT_EQ(decided(attempts).wait_s, 1);
}

TEST(Restart, AHostThatFailsTwiceInARowIsReplacedWhereThereIsASpare) {
  const std::vector<Attempt> twice = {crash(2, "n2"), crash(3, "n2")};
  const auto bad = decided(twice, 9, true).bad_hosts;
  ASSERT_EQ(bad.size(), 1U);
  EXPECT_EQ(bad[0].host, "n2");
  EXPECT_TRUE(bad[0].only_for_spare);
  EXPECT_TRUE(decided(twice, 9, false).bad_hosts.empty());
  EXPECT_TRUE(decided({crash(2, "n1"), crash(3, "n2")}, 9, true).bad_hosts.empty());
}

TEST(Restart, ARecordIsSummarized) {
  Record record{.id = "r1.1", .started_s = 100, .ended_s = 107};
  record.ranks = {
      {.rank = 0, .host = "n1", .end = agent::RankEnd{.rank = 0}},
      {.rank = 1,
       .host = "n2",
       .end = agent::RankEnd{.rank = 1, .status = 127 << 8, .failure = "no such file"}}};
  const Attempt attempt = summarize(record, judge(record));
  EXPECT_EQ(attempt.failed_rank, 1);
  EXPECT_EQ(attempt.failed_host, "n2");
  EXPECT_EQ(attempt.lived_s, 7);
  EXPECT_FALSE(attempt.cannot_run);  // rank 0 on n1 found the program
  record.ranks[0].end.reset();
  EXPECT_TRUE(summarize(record, judge(record)).cannot_run);
  record.ranks[1].end->failure.clear();  // now the exit code is the program's own
  EXPECT_FALSE(summarize(record, judge(record)).cannot_run);
}

TEST(Restart, KillingOneRankOftenIsNotYetACrashLoop) {
  Attempt killed{
      .code = 137, .failed_rank = 2, .failed_status = SIGKILL, .failed_host = "n2", .lived_s = 5};
  std::vector<Attempt> attempts(5, killed);
  EXPECT_TRUE(decided(attempts).again);
  attempts.push_back(killed);
  EXPECT_FALSE(decided(attempts).again);
  EXPECT_TRUE(decided(attempts).crash_loop);
}

TEST(Restart, WorkThatIsDoneIsNotDoneAgain) {
  Record record{.id = "r1", .engine_code = 1};
  record.ranks = {{.rank = 0,
                   .host = "n1",
                   .start = agent::RankStart{.rank = 0},
                   .end = agent::RankEnd{.rank = 0}}};
  const Attempt attempt = summarize(record, judge(record));
  EXPECT_EQ(attempt.code, 125);
  EXPECT_FALSE(decided({attempt}).again);
}

}  // namespace
}  // namespace muster::run
