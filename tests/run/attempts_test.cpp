// The loop of attempts: restarts, spares, hosts that come back, limits and signals.
#include "run/attempts.hpp"

#include <csignal>

#include <gtest/gtest.h>

#include "exit_statuses.hpp"
#include "fake_stage.hpp"

namespace muster::run {
namespace {

using Names = std::vector<std::string>;

class AttemptsTest : public testing::Test {
 protected:
  int play(int first_number = 0) {
    testing::internal::CaptureStderr();
    const auto ending = Attempts(stage_, rules_, {.base = "r", .number = first_number}).run();
    said_ = testing::internal::GetCapturedStderr();
    ending_ = ending ? *ending : Ending{.code = -1};
    return ending_.code;
  }
  [[nodiscard]] bool says(const std::string& part) const {
    return said_.find(part) != std::string::npos;
  }

  FakeStage stage_;
  AttemptRules rules_ = {.patience = {.lost_after_s = 15}, .quiet = true};
  std::string said_;
  Ending ending_;
};

TEST_F(AttemptsTest, TheCodeIsThatOfTheRankThatFailed) {
  stage_.plays = {rank_fails(1, kExit3)};
  (void)play();
  EXPECT_EQ(whose_code(ending_), "exit code 3 is that of rank 1 on n2");
  stage_.plays = {all_well};
  (void)play();
  EXPECT_EQ(whose_code(ending_), "");
}

TEST_F(AttemptsTest, ACodeOfMustersOwnIsNoRanksEvenAfterARankFailed) {
  stage_.plays = {rank_fails(1, kExit3)};
  stage_.max_restarts = 5;
  rules_.patience.timeout_s = 10;  // no time is left for a restart
  EXPECT_EQ(play(), 124);
  EXPECT_EQ(whose_code(ending_), "exit code 124 is muster's own");
}

TEST_F(AttemptsTest, ARunThatTheChecksRefuseHasACodeOfMustersOwn) {
  stage_.refusal_code = 123;
  EXPECT_EQ(play(), 123);
  EXPECT_EQ(whose_code(ending_), "exit code 123 is muster's own");
}

TEST(Ending, TellsARanksCodeFromMustersOwnInJson) {
  EXPECT_EQ(began_json("r"), "{\"schema\":1,\"run\":\"r\",\"state\":\"running\"}\n");
  EXPECT_EQ(to_json(Ending{.code = 125, .rank = 1, .host = "n2", .text = "it failed"}, "r"),
            R"({"schema":1,"run":"r","state":"ended","code":125,"code_of":"rank","rank":1,)"
            R"("host":"n2","what":"it failed"})"
            "\n");
  EXPECT_EQ(
      to_json(Ending{.code = 125, .text = "host n2 was lost"}, "r"),
      R"({"schema":1,"run":"r","state":"ended","code":125,"code_of":"muster","what":"host n2 was lost"})"
      "\n");
}

TEST_F(AttemptsTest, ARunThatGoesWellIsStartedOnce) {
  stage_.plays = {all_well};
  stage_.max_restarts = 5;
  EXPECT_EQ(play(), 0);
  EXPECT_EQ(stage_.attempts.size(), 1U);
  EXPECT_EQ(said_, "");
}

TEST_F(AttemptsTest, WithoutRestartsTheFirstFailureIsTheLast) {
  stage_.plays = {rank_fails(1, kExit3)};
  EXPECT_EQ(play(), 3);
  EXPECT_EQ(stage_.attempts.size(), 1U);
  EXPECT_TRUE(says("rank 1 on n2 ended with exit code 3"));
}

TEST_F(AttemptsTest, TheEndingComesBelowTheVerdictOfTheLastAttemptOnly) {
  stage_.plays = {rank_fails(1, kExit3), rank_fails(1, kExit4)};
  stage_.max_restarts = 1;
  stage_.ending = {"  cause      ValueError: x"};
  EXPECT_EQ(play(), 4);
  EXPECT_TRUE(
      said_.ends_with("\nmuster: rank 1 on n2 ended with exit code 4; 2 ranks of 3 failed "
                      "after it\n  cause      ValueError: x\n"))
      << said_;
  EXPECT_EQ(said_.find("cause"), said_.rfind("cause"));
}

TEST_F(AttemptsTest, ALongVerdictIsWrapped) {
  stage_.plays = {loses(
      {"a-host-with-a-long-name-1", "another-host-with-a-name", "the-third-host-with-a-name"})};
  EXPECT_EQ(play(), 125);
  EXPECT_EQ(said_,
            "muster: hosts a-host-with-a-long-name-1, another-host-with-a-name,\n"
            "        the-third-host-with-a-name were lost\n");
}

TEST_F(AttemptsTest, ARankThatFailsOnceIsStartedAgain) {
  stage_.plays = {rank_fails(1, kExit3), all_well};
  stage_.max_restarts = 2;
  EXPECT_EQ(play(), 0);
  EXPECT_EQ(stage_.attempts.size(), 2U);
  EXPECT_EQ(stage_.pauses, std::vector<double>{1});
  EXPECT_TRUE(says("attempt 1 of 3: rank 1 on n2 ended with exit code 3"));
  EXPECT_TRUE(says("starting again on n[1-3]; TORCHELASTIC_RESTART_COUNT=1"));
}

TEST_F(AttemptsTest, RestartsAreUsedUp) {
  stage_.plays = {rank_fails(0, kExit3), rank_fails(1, kExit3), rank_fails(2, kExit4)};
  stage_.max_restarts = 2;
  EXPECT_EQ(play(), 4);
  EXPECT_EQ(stage_.attempts.size(), 3U);
  EXPECT_TRUE(says("2 restarts were made and no more are allowed"));
}

TEST_F(AttemptsTest, TheWaitGrowsUpToItsLimit) {
  stage_.plays = {rank_fails(0, kExit3), rank_fails(1, kExit3), rank_fails(2, kExit3),
                  rank_fails(0, kExit4), rank_fails(1, kExit4)};
  stage_.max_restarts = 4;
  rules_.longest_wait_s = 3;
  (void)play();
  EXPECT_EQ(stage_.pauses, (std::vector<double>{1, 2, 3, 3}));
}

TEST_F(AttemptsTest, ACrashLoopEndsBeforeTheRestartsDo) {
  stage_.plays = {rank_fails(1, kExit3)};
  stage_.max_restarts = 100;
  EXPECT_EQ(play(), 3);
  EXPECT_EQ(stage_.attempts.size(), 3U);
  EXPECT_TRUE(says("crash loop: rank 1 ended with exit code 3 in 3 attempts in a row"));
}

TEST_F(AttemptsTest, ASpareTakesThePlaceOfALostHost) {
  stage_.plays = {loses({"n2"}), all_well};
  stage_.max_restarts = 2;
  rules_.spares = "n9";
  EXPECT_EQ(play(), 0);
  EXPECT_EQ(stage_.attempts.back(), (Names{"n1", "n9", "n3"}));
  EXPECT_TRUE(says("n9 instead of n2 (lost)"));
}

TEST_F(AttemptsTest, ASpareThatIsDownTooIsPassedOver) {
  stage_.plays = {loses({"n2"}), all_well};
  stage_.max_restarts = 2;
  stage_.down_until = {{"n8", 1e6}};
  rules_.spares = "n8,n9";
  EXPECT_EQ(play(), 0);
  EXPECT_EQ(stage_.attempts.back(), (Names{"n1", "n9", "n3"}));
}

TEST_F(AttemptsTest, ASpareThatDiesIsReplacedByTheNext) {
  stage_.plays = {loses({"n2"}), loses({"n8"}), all_well};
  stage_.max_restarts = 5;
  rules_.spares = "n8,n9";
  EXPECT_EQ(play(), 0);
  EXPECT_EQ(stage_.attempts.back(), (Names{"n1", "n9", "n3"}));
}

// Hosts that go down with the first attempt and come back at a set time.
class HostsAway : public AttemptsTest {
 protected:
  void lose(const Names& names, double back_at) {
    stage_.plays = {[this, names, back_at](const Names& hosts, Record& record) {
                      loses(names)(hosts, record);
                      for (const std::string& name : names) stage_.down_until[name] = back_at;
                    },
                    all_well};
    stage_.max_restarts = 2;
  }
};

TEST_F(HostsAway, AHostThatBootsIsWaitedForWhenThereIsNoSpare) {
  lose({"n2"}, 40);
  EXPECT_EQ(play(), 0);
  EXPECT_EQ(stage_.attempts.back(), (Names{"n1", "n2", "n3"}));
  EXPECT_TRUE(says("n2: no answer within 15 s, and no spare host is left; waiting up to 45 s"));
  EXPECT_GT(stage_.forgotten, 0);  // muster dropped the old connection to it
}

TEST_F(HostsAway, AHostThatStaysDownEndsTheRunInBoundedTime) {
  lose({"n2"}, 1e6);
  EXPECT_EQ(play(), 125);
  EXPECT_EQ(stage_.attempts.size(), 1U);
  EXPECT_TRUE(says("not started again; n2: no answer within 15 s, for"));
  EXPECT_TRUE(says("and there is no spare host"));
  EXPECT_LT(stage_.now_s, 12 + 45 + 30 + 20);
}

TEST_F(HostsAway, WithFewerSparesThanLostHostsTheRestIsWaitedFor) {
  lose({"n1", "n2"}, 60);
  rules_.spares = "n9";
  EXPECT_EQ(play(), 0);
  const Names& last = stage_.attempts.back();
  EXPECT_EQ(last.size(), 3U);
  EXPECT_EQ(std::count(last.begin(), last.end(), "n9"), 1);
  EXPECT_EQ(std::count(last.begin(), last.end(), "n3"), 1);
}

TEST_F(HostsAway, WhenAllSparesAreDownTheHostItselfMayComeBack) {
  lose({"n2"}, 40);
  stage_.down_until["n8"] = stage_.down_until["n9"] = 1e6;
  rules_.spares = "n8,n9";
  EXPECT_EQ(play(), 0);
  EXPECT_EQ(stage_.attempts.back(), (Names{"n1", "n2", "n3"}));
}

TEST_F(HostsAway, AnElasticRunGoesOnWithFewerHosts) {
  lose({"n2"}, 1e6);
  stage_.min_nodes = 2;
  EXPECT_EQ(play(), 0);
  EXPECT_EQ(stage_.attempts.back(), (Names{"n1", "n3"}));
  EXPECT_TRUE(says("without n2 (no answer within 15 s)"));
}

TEST_F(HostsAway, AnElasticRunDoesNotGoBelowItsMinimum) {
  lose({"n1", "n2"}, 1e6);
  stage_.min_nodes = 2;
  EXPECT_EQ(play(), 125);
  EXPECT_EQ(stage_.attempts.size(), 1U);
}

TEST_F(HostsAway, WhenAllAreLostItWasOurNetworkAndNoSpareIsTaken) {
  lose({"n1", "n2", "n3"}, 0);
  rules_.spares = "n[7-9]";
  EXPECT_EQ(play(), 0);
  EXPECT_EQ(stage_.attempts.back(), (Names{"n1", "n2", "n3"}));
}

TEST_F(HostsAway, ASignalWhileAHostIsWaitedForEndsTheRun) {
  lose({"n2"}, 1e6);
  stage_.signal = SIGTERM;
  stage_.signal_at = 30;
  EXPECT_EQ(play(), 143);
  EXPECT_TRUE(says("stopped by Terminated before the restart"));
  EXPECT_TRUE(ending_.stopped);
  EXPECT_FALSE(stage_.is_open);
}

TEST_F(HostsAway, TheTimeLimitMayPassWhileAHostIsWaitedFor) {
  lose({"n2"}, 40);
  rules_.patience.timeout_s = 30;
  EXPECT_EQ(play(), 124);
  EXPECT_EQ(stage_.attempts.size(), 1U);
  EXPECT_TRUE(says("not started again: the time limit of 30 s has passed"));
}

TEST_F(AttemptsTest, ASignalDuringThePauseEndsTheRun) {
  stage_.plays = {rank_fails(1, kExit3), all_well};
  stage_.max_restarts = 2;
  stage_.signal = SIGINT;
  stage_.signal_at = 11.5;
  EXPECT_EQ(play(), 130);
  EXPECT_EQ(stage_.attempts.size(), 1U);
}

TEST_F(AttemptsTest, ASignalWhileTheHostsAreCheckedAgainEndsTheRun) {
  stage_.plays = {rank_fails(1, kExit3), all_well};
  stage_.max_restarts = 2;
  stage_.signal = SIGTERM;
  stage_.signal_at = 1e9;
  stage_.signal_at_look = 2;
  EXPECT_EQ(play(), 143);
  EXPECT_EQ(stage_.attempts.size(), 1U);
  EXPECT_TRUE(ending_.stopped);
  EXPECT_TRUE(says("stopped by Terminated before the restart"));
  EXPECT_FALSE(stage_.is_open);
}

TEST_F(AttemptsTest, AnInterruptedAttemptIsNotStartedAgain) {
  stage_.plays = {ends_with(Reason::kInterrupted, SIGINT)};
  stage_.max_restarts = 5;
  EXPECT_EQ(play(), 130);
  EXPECT_EQ(stage_.attempts.size(), 1U);
}

TEST_F(AttemptsTest, AnAttemptThatTookTooLongIsNotStartedAgain) {
  stage_.plays = {ends_with(Reason::kTimeout, 0)};
  stage_.max_restarts = 5;
  EXPECT_EQ(play(), 124);
  EXPECT_EQ(stage_.attempts.size(), 1U);
}

TEST_F(AttemptsTest, AStalledAttemptIsStartedAgain) {
  stage_.plays = {ends_with(Reason::kStalled, 0), all_well};
  stage_.max_restarts = 1;
  EXPECT_EQ(play(), 0);
  EXPECT_EQ(stage_.attempts.size(), 2U);
}

TEST_F(AttemptsTest, AttemptsShareOneTimeLimit) {
  stage_.plays = {rank_fails(0, kExit3), rank_fails(1, kExit3), all_well};
  stage_.max_restarts = 5;
  rules_.patience.timeout_s = 100;
  EXPECT_EQ(play(), 0);
  EXPECT_EQ(stage_.patience[0].spent_s, 0);
  EXPECT_NEAR(stage_.patience[1].spent_s, stage_.began_s[1] - stage_.began_s[0], 0.01);
  EXPECT_NEAR(stage_.patience[2].spent_s, stage_.began_s[2] - stage_.began_s[0], 0.01);
}

TEST_F(AttemptsTest, ATimeLimitThatWouldPassDuringThePauseIsNotWaitedFor) {
  stage_.plays = {rank_fails(0, kExit3)};
  stage_.max_restarts = 5;
  rules_.patience.timeout_s = 10.5;
  EXPECT_EQ(play(), 124);
  EXPECT_TRUE(stage_.pauses.empty());
  EXPECT_TRUE(says("the time limit of 10.5 s would pass first"));
}

TEST_F(AttemptsTest, WithRestartsAHostThatIsGivenUpStopsAtTheSameMoment) {
  stage_.plays = {all_well};
  stage_.max_restarts = 1;
  (void)play();
  EXPECT_EQ(stage_.patience[0].orphan_after_s, 15);
  FakeStage without;
  without.plays = {all_well};
  (void)Attempts(without, rules_, {.base = "r"}).run();
  EXPECT_EQ(without.patience[0].orphan_after_s, 60);
}

TEST_F(AttemptsTest, AHostOnWhichTheFirstRankFailsTwiceGivesWayToASpare) {
  stage_.plays = {rank_fails(1, kExit3), rank_fails(1, kExit4), all_well};
  stage_.max_restarts = 5;
  rules_.spares = "n9";
  EXPECT_EQ(play(), 0);
  EXPECT_EQ(stage_.attempts.back(), (Names{"n1", "n9", "n3"}));
}

TEST_F(AttemptsTest, ErrorsKeepTheRunFromBeingStarted) {
  stage_.refusal_code = 127;
  EXPECT_EQ(play(), 127);
  EXPECT_TRUE(stage_.attempts.empty());
  EXPECT_TRUE(says("the folder is not there"));
  EXPECT_TRUE(says("not started because of the errors above"));
}

TEST_F(AttemptsTest, ABadHostAtTheFirstStartIsReplacedBeforeIt) {
  stage_.plays = {all_well};
  stage_.down_until = {{"n3", 1e6}};
  rules_.spares = "n9";
  EXPECT_EQ(play(), 0);
  EXPECT_EQ(stage_.attempts.back(), (Names{"n1", "n2", "n9"}));
  EXPECT_TRUE(says("starting on n[1-2,9], n9 instead of n3"));
}

TEST_F(AttemptsTest, ABadHostAtTheFirstStartIsNotWaitedFor) {
  stage_.down_until = {{"n3", 1e6}};
  stage_.max_restarts = 5;
  EXPECT_EQ(play(), kExitRefused);
  EXPECT_TRUE(stage_.pauses.empty());
}

TEST_F(AttemptsTest, AFileServerThatIsAwayAtARestartIsWaitedFor) {
  stage_.plays = {[this](const Names& hosts, Record& record) {
                    rank_fails(1, kExit3)(hosts, record);
                    stage_.file_server_down_until = 30;
                  },
                  all_well};
  stage_.max_restarts = 2;
  EXPECT_EQ(play(), 0);
  EXPECT_TRUE(says("on all hosts: the folder is not there; waiting up to 45 s"));
}

TEST_F(AttemptsTest, AFileServerThatStaysAwayEndsTheRunWithTheLastCode) {
  stage_.plays = {[this](const Names& hosts, Record& record) {
    rank_fails(1, kExit3)(hosts, record);
    stage_.file_server_down_until = 1e6;
  }};
  stage_.max_restarts = 2;
  EXPECT_EQ(play(), 3);
  EXPECT_TRUE(says("not started again; see above"));
  EXPECT_LT(stage_.now_s, 12 + 45 + 35);
}

TEST_F(AttemptsTest, RestartsOfTheEngineAreNotMusters) {
  stage_.plays = {rank_fails(1, kExit3)};
  stage_.max_restarts = 5;
  stage_.ours_to_restart = false;
  EXPECT_EQ(play(), 3);
  EXPECT_EQ(stage_.attempts.size(), 1U);
  EXPECT_EQ(stage_.turns[0].most, -1);
}

TEST_F(AttemptsTest, NothingIsStartedInADryRun) {
  stage_.dry_run = true;
  EXPECT_EQ(play(), 0);
  EXPECT_TRUE(stage_.attempts.empty());
}

TEST_F(AttemptsTest, ARunThatIsStartedAgainCountsOnAndWaitsForItsHosts) {
  stage_.plays = {rank_fails(1, kExit3), all_well};
  stage_.max_restarts = 1;
  stage_.down_until = {{"n2", 20}};
  EXPECT_EQ(play(3), 0);
  EXPECT_EQ(stage_.turns[0].id(), "r.3");
  EXPECT_EQ(stage_.turns[0].earlier(), (Names{"r", "r.1", "r.2"}));
  EXPECT_TRUE(says("attempt 4 of 5"));
}

TEST_F(AttemptsTest, SparesThatCannotBeReadAreSaidBeforeAnyHostIsAsked) {
  rules_.spares = "n[1-";
  EXPECT_EQ(play(), -1);
  EXPECT_EQ(stage_.looks, 0);
}

TEST_F(AttemptsTest, TenThousandHostsLoseHalf) {
  stage_.hosts.clear();
  Names lost;
  for (int i = 1; i <= 10'000; ++i) {
    stage_.hosts.push_back("n" + std::to_string(i));
    if (i % 2 == 0) lost.push_back(stage_.hosts.back());
  }
  stage_.plays = {loses(lost), all_well};
  stage_.max_restarts = 1;
  rules_.spares = "s[1-5000]";
  EXPECT_EQ(play(), 0);
  ASSERT_EQ(stage_.attempts.size(), 2U);
  EXPECT_EQ(stage_.attempts[1][0], "n1");
  EXPECT_EQ(stage_.attempts[1][1], "s1");
  EXPECT_EQ(stage_.attempts[1][9999], "s5000");
}

}  // namespace
}  // namespace muster::run
