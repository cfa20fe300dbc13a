#include "run/record.hpp"

#include <csignal>

#include <gtest/gtest.h>

#include "run/restart.hpp"

namespace muster::run {
namespace {

constexpr int exited(int code) {
  return code << 8;
}

Record six_ranks() {
  Record record{.id = "r1", .engine = "Open MPI 5.0.11"};
  for (int i = 0; i < 6; ++i) {
    record.ranks.push_back({.rank = i,
                            .host = "n" + std::to_string(i / 2 + 1),
                            .start = agent::RankStart{.rank = i},
                            .end = agent::RankEnd{.rank = i, .time_s = 100.0 + i}});
  }
  return record;
}

void ended(Record& record, int rank, int status, double time_s) {
  record.ranks[rank].end->status = status;
  record.ranks[rank].end->time_s = time_s;
}

TEST(Verdict, AllWell) {
  const Verdict verdict = judge(six_ranks());
  EXPECT_EQ(verdict.code, 0);
  EXPECT_EQ(verdict.text, "");
}

TEST(Verdict, TheFirstFailingRankGivesTheCodeThoughTheEngineReturnsAnother) {
  Record record = six_ranks();
  ended(record, 4, exited(3), 50);
  ended(record, 1, exited(5), 51);
  record.engine_code = 5;
  const Verdict verdict = judge(record);
  EXPECT_EQ(verdict.code, 3);
  EXPECT_EQ(verdict.first_failed_rank, 4);
  EXPECT_EQ(verdict.text, "rank 4 on n3 ended with exit code 3; 1 rank of 6 failed after it");
}

TEST(Verdict, ARankThatTheKernelKilledForMemoryIsNamedWithTheReason) {
  Record record = six_ranks();
  ended(record, 2, SIGKILL, 50);
  record.ranks[2].end->memory_ran_out = true;
  record.ranks[2].end->max_rss_kb = 3 << 19;
  ended(record, 1, exited(1), 49);  // because it lost its connection
  record.ranks[1].cut_off = true;
  const Verdict verdict = judge(record);
  EXPECT_EQ(verdict.code, 137);
  EXPECT_EQ(verdict.first_failed_rank, 2);
  EXPECT_EQ(verdict.text,
            "rank 2 on n2 ended with signal 9 (Killed): the kernel killed it because memory ran "
            "out; 1 rank of 6 failed after it");
  EXPECT_EQ(verdict.hint,
            "the rank itself used up to 1.5 GiB; use a smaller batch, fewer ranks or fewer "
            "DataLoader workers per host, or raise the memory limit of the container or Slurm job; "
            "to see its output: muster logs r1 --rank 2");
}

TEST(Verdict, OfARankThatWroteNoErrorPointsToTheOthers) {
  Record record = six_ranks();
  ended(record, 2, exited(1), 50);
  record.ranks[2].silent = true;
  EXPECT_EQ(
      judge(record).hint,
      "to see its output: muster logs r1 --rank 2; rank 2 wrote nothing to stderr; to see what "
      "the others wrote: muster logs r1 --err");
  record.held_back = {0, 3};
  record.ranks[0].cut_off = true;
  EXPECT_EQ(
      judge(record).hint,
      "to see its output: muster logs r1 --rank 2; rank 2 wrote nothing to stderr; to see what "
      "rank 3 wrote: muster logs r1 --rank 3");
}

TEST(Verdict, MemoryThatRanOutForAHelperOfARankIsMentioned) {
  Record record = six_ranks();
  ended(record, 2, exited(1), 50);
  record.ranks[2].end->memory_ran_out = true;
  EXPECT_EQ(judge(record).text,
            "rank 2 on n2 ended with exit code 1 after the kernel had killed a process on that "
            "host because memory ran out");
}

TEST(Verdict, AStallIsATimeThatPassed) {
  Record record = six_ranks();
  record.reason = Reason::kStalled;
  record.stalled_s = 20.3;
  record.stalled = "all ranks wait";
  EXPECT_EQ(judge(record).code, 124);
  EXPECT_EQ(judge(record).text, "no rank printed anything for 20 s; all ranks wait");
}

TEST(Verdict, ClocksAreCorrectedBeforeTheFirstIsChosen) {
  Record record = six_ranks();
  ended(record, 4, exited(3), 150);  // n3's clock is 100 s ahead
  ended(record, 1, exited(5), 60);
  record.clock_ahead_s = {{"n3", 100}};
  EXPECT_EQ(judge(record).first_failed_rank, 4);
}

TEST(Verdict, ClocksThatSeemRightAreNotCorrected) {
  Record record = six_ranks();
  ended(record, 4, 11, 50);
  ended(record, 1, 15, 50.003);                           // ended by the engine
  record.clock_ahead_s = {{"n1", -0.01}, {"n3", -0.06}};  // nothing but the delay of beats
  EXPECT_EQ(judge(record).first_failed_rank, 4);
  record.clock_ahead_s = {{"n1", -0.01}, {"n3", -0.6}};  // n3 was busy and sent its beat late
  EXPECT_EQ(judge(record).first_failed_rank, 4);
}

TEST(Verdict, ARankThatWasCutOffIsNotTheCauseThoughItsEndWasRecordedFirst) {
  Record record = six_ranks();
  ended(record, 1, exited(14), 50);
  record.ranks[1].cut_off = true;
  ended(record, 4, exited(3), 50.01);
  ended(record, 5, SIGTERM, 50.005);
  EXPECT_EQ(judge(record).first_failed_rank, 4);
  EXPECT_EQ(judge(record).code, 3);
  EXPECT_EQ(summarize(record, judge(record)).failed_rank, 4);
}

TEST(Verdict, OpenMpiReportsOnlyOneOfTheRanksThatWereCutOff) {
  Record record = six_ranks();
  for (const int rank : {1, 2}) {
    ended(record, rank, exited(14), 50);
  }
  ended(record, 4, exited(3), 52);
  record.ranks[5].end->status = SIGTERM;
  mark_cut_off(record, {2, 5});
  EXPECT_TRUE(record.ranks[1].cut_off && record.ranks[2].cut_off && record.ranks[5].cut_off);
  EXPECT_FALSE(record.ranks[0].cut_off || record.ranks[4].cut_off);
  EXPECT_EQ(judge(record).first_failed_rank, 4);
}

TEST(Verdict, ARankThatWasCutOffIsTheFirstWhereTheEngineEndedTheOthers) {
  Record record = six_ranks();
  ended(record, 1, exited(14), 50);
  record.ranks[1].cut_off = true;
  ended(record, 4, SIGTERM, 50.01);
  EXPECT_EQ(judge(record).first_failed_rank, 1);
}

// Rank 4 sleeps. Rank 1 times out first, then ranks 0 and 2, and the others lose a connection.
Record one_sleeps() {
  Record record = six_ranks();
  for (const int rank : {1, 0, 2}) {
    ended(record, rank, exited(1), rank == 1 ? 50 : 51);
    record.ranks[rank].timed_out = true;
  }
  for (const int rank : {3, 5}) {
    record.ranks[rank].end->status = exited(1);
    record.ranks[rank].cut_off = true;
  }
  record.ranks[4].end->status = SIGTERM;
  return record;
}

// With MPICH, Slurm kills the ranks like this. Which of a rank's processes it kills first varies.
TEST(Verdict, ARankThatWasKilledInTheMiddleOfMpiAbortIsTheCause) {
  Record record = six_ranks();
  for (RankRecord& rank : record.ranks) {
    rank.end->status = SIGKILL;
    rank.end->failure = "it was killed together with muster's rank process";
  }
  for (RankRecord& rank : record.ranks) rank.end->time_s = 100 + 0.1 * rank.rank;
  record.ranks[4].aborted_with = 7;
  const Verdict verdict = judge(record);
  EXPECT_EQ(verdict.code, 7);
  EXPECT_EQ(verdict.first_failed_rank, 4);
  EXPECT_EQ(verdict.text, "rank 4 on n3 ended with exit code 7; 5 ranks of 6 failed after it");
  EXPECT_EQ(verdict.hint, "to see its output: muster logs r1 --rank 4");
  record.ranks[2].end->time_s = 70;  // killed half a minute before the other rank timed out
  EXPECT_EQ(judge(record).first_failed_rank, 2);
}

TEST(Verdict, TheRankForWhichOthersWaitedInVainIsNamed) {
  const Verdict verdict = judge(one_sleeps());
  EXPECT_EQ(verdict.code, 1);
  EXPECT_TRUE(verdict.text.starts_with(
      "rank 4 on n3 kept the other ranks waiting until they timed out (first failure: rank "))
      << verdict.text;
  EXPECT_NE(verdict.hint.find("muster logs r1 --rank 4"), std::string::npos) << verdict.hint;
  EXPECT_NE(verdict.hint.find("--stall-after"), std::string::npos) << verdict.hint;
  Record seen = one_sleeps();
  seen.time_out_was_seen = true;
  const std::string hint = judge(seen).hint;
  EXPECT_NE(hint.find("muster why r1"), std::string::npos) << hint;
  EXPECT_EQ(hint.find("--stall-after"), std::string::npos) << hint;
}

TEST(Verdict, NobodyIsBlamedForATimeOutWhereSeveralCouldBe) {
  Record record = one_sleeps();
  record.ranks[5].cut_off = false;  // so rank 5, too, may have kept the others waiting
  EXPECT_TRUE(judge(record).text.starts_with("rank 1 on n1 ended with exit code 1"))
      << judge(record).text;
}

TEST(Verdict, ARankThatEndedBeforeTheOthersGaveUpIsTheFirstToFail) {
  Record record = one_sleeps();
  ended(record, 4, exited(3), 40);
  EXPECT_EQ(judge(record).first_failed_rank, 4);
  EXPECT_EQ(judge(record).code, 3);
}

TEST(Verdict, AnEngineThatDiesOfABrokenPipeAfterARankIsNotTheCause) {
  Record record = six_ranks();
  record.ranks[4].end->status = SIGSEGV;
  record.engine_signal = SIGPIPE;
  EXPECT_EQ(judge(record).first_failed_rank, 4);
  EXPECT_EQ(judge(record).code, 139);
  record.engine_signal = SIGKILL;
  EXPECT_EQ(judge(record).code, 125);
}

TEST(Verdict, AClockThatIsSecondsSlowIsCorrected) {
  Record record = six_ranks();
  ended(record, 4, exited(3), 50);  // n3's clock is 20 s behind
  ended(record, 1, exited(5), 60);
  record.clock_ahead_s = {{"n3", -20}};
  EXPECT_EQ(judge(record).first_failed_rank, 1);
}

TEST(Verdict, ASignalIs128PlusIts) {
  Record record = six_ranks();
  record.ranks[2].end->status = 11;
  EXPECT_EQ(judge(record).code, 139);
  EXPECT_EQ(judge(record).text, "rank 2 on n2 ended with signal 11 (Segmentation fault)");
}

// A record in which host n2 was lost with its two ranks.
Record lost_n2() {
  Record record = six_ranks();
  record.ranks[2].end.reset();
  record.ranks[3].end.reset();
  record.ranks[0].end->status = 15;  // a consequence: the engine ended it
  record.lost_hosts = {"n2"};
  return record;
}

TEST(Verdict, ALostHostIsNamedThoughTheEngineReturnsZero) {
  Record record = lost_n2();
  record.reason = Reason::kHostLost;
  const Verdict verdict = judge(record);
  EXPECT_EQ(verdict.code, 125);
  EXPECT_EQ(verdict.text, "host n2 was lost with ranks 2, 3");
}

TEST(Verdict, ALostHostIsTheCauseThoughTheEngineEndedTheOthersFirst) {
  Record record = lost_n2();
  record.engine_code = 205;
  const Verdict verdict = judge(record);
  EXPECT_EQ(verdict.code, 125);
  EXPECT_EQ(verdict.text, "host n2 was lost with ranks 2, 3");
}

TEST(Verdict, AHostLostAfterItsRanksEndedIsNotTheCause) {
  Record record = six_ranks();
  record.ranks[4].end->status = exited(3);
  record.lost_hosts = {"n2"};
  EXPECT_EQ(judge(record).code, 3);
  EXPECT_EQ(judge(record).first_failed_rank, 4);
}

TEST(Verdict, AKilledEngineIsTheCauseOfItsRanksEnds) {
  Record record = six_ranks();
  for (auto& rank : record.ranks) rank.end->status = 9;
  record.engine_signal = 9;
  const Verdict verdict = judge(record);
  EXPECT_EQ(verdict.code, 125);
  EXPECT_EQ(verdict.text,
            "Open MPI 5.0.11 ended with signal 9 (Killed) and took ranks 0, 1, 2, 3, 4, 5 "
            "down with it");
  // Now muster itself killed the engine, because a rank had failed.
  record.reason = Reason::kRankFailed;
  EXPECT_EQ(judge(record).code, 137);
}

TEST(Verdict, AHostLostAfterAGoodEndDoesNotSpoilIt) {
  Record record = six_ranks();
  record.lost_hosts = {"n2"};
  const Verdict verdict = judge(record);
  EXPECT_EQ(verdict.code, 0);
  EXPECT_EQ(
      verdict.text,
      "all ranks succeeded; then host n2 was lost, and muster ends its processes there once it "
      "can be reached again");
}

TEST(Verdict, AnAgentThatCannotWorkIsSaidInItsWords) {
  Record record = six_ranks();
  record.reason = Reason::kAgentFailed;
  record.failure = "n2: cannot watch the run's folder";
  EXPECT_EQ(judge(record).code, 125);
  EXPECT_EQ(judge(record).text, "n2: cannot watch the run's folder");
}

TEST(Verdict, TimeoutAndInterruptComeBeforeWhatTheyCaused) {
  Record record = six_ranks();
  for (auto& rank : record.ranks) rank.end->status = 15;
  record.reason = Reason::kTimeout;
  record.timeout_s = 20;
  EXPECT_EQ(judge(record).code, 124);
  record.reason = Reason::kInterrupted;
  record.signal = 2;
  EXPECT_EQ(judge(record).code, 130);
  EXPECT_EQ(judge(record).text, "ended by signal 2 (Interrupt)");
}

TEST(Verdict, RanksThatNeverStartedAreTheEnginesFault) {
  Record record = six_ranks();
  for (auto& rank : record.ranks) {
    rank.start.reset();
    rank.end.reset();
  }
  record.engine_code = 213;
  const Verdict verdict = judge(record);
  EXPECT_EQ(verdict.code, 125);
  EXPECT_EQ(verdict.text,
            "Open MPI 5.0.11 ended with exit code 213 and never started ranks 0, 1, 2, 3, 4, 5");
}

TEST(Verdict, ARankThatTheEngineEndedIsNotBlamedForThoseThatNeverStarted) {
  Record record = six_ranks();
  for (std::size_t i = 2; i < 6; ++i) record.ranks[i].start.reset(), record.ranks[i].end.reset();
  record.ranks[0].end->status = SIGTERM;
  record.ranks[1].end->status = SIGKILL;
  record.engine_code = 255;
  EXPECT_EQ(judge(record).code, 125);
  EXPECT_EQ(judge(record).text,
            "Open MPI 5.0.11 ended with exit code 255 and never started ranks 2, 3, 4, 5");
  ended(record, 1, exited(3), 90);
  EXPECT_EQ(judge(record).text, "rank 1 on n1 ended with exit code 3; 1 rank of 6 failed after it");
}

TEST(Verdict, AKilledEngineIsNotSuccess) {
  Record record = six_ranks();
  record.ranks[5].end.reset();
  record.engine_signal = 9;
  EXPECT_EQ(judge(record).code, 125);
  EXPECT_NE(judge(record).text.find("signal 9"), std::string::npos);
}

TEST(Verdict, AnEngineThatHungAfterAGoodEndDoesNotMatter) {
  Record record = six_ranks();
  record.reason = Reason::kEngineStuck;
  record.engine_signal = 15;
  EXPECT_EQ(judge(record).code, 0);
}

TEST(Verdict, AProgramThatCannotBeStartedIsSaidInItsWords) {
  Record record = six_ranks();
  record.ranks[0].end->status = exited(127);
  record.ranks[0].end->failure = "cannot run 'nosuch': No such file or directory";
  record.ranks[0].end->time_s = 1;
  EXPECT_EQ(judge(record).code, 127);
  EXPECT_EQ(judge(record).text, "rank 0 on n1: cannot run 'nosuch': No such file or directory");
}

TEST(Record, IsReadBackAsASummary) {
  Record record = six_ranks();
  record.command = "./train";
  record.started_s = 10;
  record.ended_s = 12.5;
  record.ranks[2].end->status = exited(7);
  const auto summary = parse_summary(to_json(record, judge(record)));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->ranks, 6);
  EXPECT_EQ(summary->code, 7);
  EXPECT_EQ(summary->command, "./train");
  EXPECT_DOUBLE_EQ(summary->ended_s, 12.5);
  EXPECT_EQ(summary->failed_rank, 2);
  EXPECT_EQ(summary->failed_host, record.ranks[2].host);
  record.reason = Reason::kInterrupted;
  const auto stopped = parse_summary(to_json(record, judge(record)));
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->failed_rank, -1);
  EXPECT_EQ(stopped->code_of, "muster");
}

TEST(Record, HostileTextIsRefused) {
  for (const char* text : {"", "{", "[]", "{\"id\":3}", "null"}) EXPECT_FALSE(parse_summary(text));
}

}  // namespace
}  // namespace muster::run
