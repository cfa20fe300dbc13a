// Verdicts on jobs that advance.
#include <gtest/gtest.h>

#include "verdict_cases.hpp"
#include "why/verdict.hpp"

namespace muster::why {
namespace {

// Rank 2 of 4 spends less time in collectives than the others.
Builder with_straggler() {
  Builder scene(4);
  for (const int rank : {0, 1, 2, 3}) {
    scene.rank(rank).samples = 100;
    scene.rank(rank).samples_in_collectives = rank == 2 ? 12 : 71;
  }
  return scene;
}

TEST(JudgeSlow, CountsTheTimesAtWhichAStarvedRankDidNotAnswer) {
  Builder scene(4);
  for (const int rank : {0, 1, 2, 3}) {
    scene.did(rank, "all_reduce", 12);
    scene.rank(rank).samples = rank == 1 ? 62 : 119;
    scene.rank(rank).samples_in_collectives = rank == 1 ? 35 : 103;
  }
  const Verdict verdict = judge_slow(scene);
  EXPECT_EQ(name_of(verdict.kind), "straggler") << verdict.headline;
  EXPECT_EQ(verdict.ranks, std::vector{1});
}

TEST(JudgeSlow, NamesTheRankThatOthersWaitFor) {
  Builder scene = with_straggler();
  scene.rank(2).places = {"train.py:80 augment", "train.py:80 augment", "train.py:9 f"};
  const Verdict verdict = judge_slow(scene);
  EXPECT_EQ(verdict.kind, Kind::kStraggler);
  EXPECT_FALSE(verdict.hang);
  EXPECT_EQ(verdict.ranks, std::vector<int>{2});
  EXPECT_NE(verdict.headline.find("12 % of its time in collectives, the others 71 % on average"),
            std::string::npos);
  scene.rank(2).samples_in_collectives = 60;
  EXPECT_EQ(judge_slow(scene).kind, Kind::kBalanced);
}

TEST(JudgeSlow, LeavesOutRanksWithoutCollectives) {
  Builder scene(4);
  for (const int rank : {0, 1, 2, 3}) {
    scene.rank(rank).samples = 100;
    if (rank < 3) scene.rank(rank).samples_in_collectives = 60;
    scene.did(rank, "all_reduce", 7);
  }
  EXPECT_EQ(judge_slow(scene).kind, Kind::kBalanced) << all_of(judge_slow(scene));
  // A rank that has not begun the collective in which the others wait is late, even if it was never
  // seen in one.
  scene.group(3).begun = scene.group(3).begun_before = 6;
  EXPECT_EQ(judge_slow(scene).ranks, std::vector<int>{3});

  Builder pipeline(3);
  for (const int rank : {0, 1, 2}) pipeline.rank(rank).samples = 100;
  EXPECT_EQ(judge_slow(pipeline).headline,
            "fewer than two ranks called collectives while muster watched");
}

TEST(JudgeSlow, TellsOfMissingProcessorsOnlyWithEvidence) {
  Builder scene = with_straggler().doing(2, "R", "", 0.3);
  scene.rank(2).places = {"train.py:80 augment", "train.py:12 load", "train.py:9 f"};
  const auto says = [&](const char* text) {
    return all_of(judge_slow(scene)).find(text) != std::string::npos;
  };
  EXPECT_FALSE(says("ready to run"));
  scene.scene().hosts.at("n3").load = 12;
  EXPECT_TRUE(
      says("used only 30 % of a processor: about 12 processes compete for the 8 processors "
           "of n3"));
  scene.scene().hosts.at("n3").load = 1;
  scene.rank(2).places = {"train.py:80 augment", "train.py:81 augment", "train.py:80 augment"};
  EXPECT_TRUE(says("if it only computes there, a CPU limit slows it down"));
  scene.doing(2, "R", "", 0.95);
  EXPECT_FALSE(says("ready to run"));
  scene.doing(2, "S", "", 0.3);
  EXPECT_FALSE(says("ready to run"));
}

inspect::Connection between(int rank, int peer, bool slow) {
  return {.local = "10.0.0." + std::to_string(rank + 1),
          .peer = "10.0.0." + std::to_string(peer + 1),
          .state = "established",
          .busy = slow ? 0.8 : 0.1,
          .round_trip_s = slow ? 0.02 : 0.0002};
}

TEST(JudgeSlow, NamesTheHostWithTheSlowNetwork) {
  Builder scene(4);
  for (int rank = 0; rank < 4; ++rank) {
    scene.rank(rank).samples = 100;
    scene.rank(rank).samples_in_collectives = 80;
    for (int peer = 0; peer < 4; ++peer) {
      if (peer != rank) scene.connect(rank, between(rank, peer, rank == 2 || peer == 2));
    }
  }
  const Verdict verdict = judge_slow(scene);
  EXPECT_EQ(verdict.kind, Kind::kSlowLink);
  EXPECT_EQ(verdict.hosts, std::vector<std::string>{"n3"});
}

TEST(JudgeSlow, IsFitForLargeNetworks) {
  constexpr int kHosts = 200;
  Builder scene(kHosts);
  for (int rank = 0; rank < kHosts; ++rank) {
    inspect::RankView& view = scene.rank(rank);
    view.samples = 100;
    view.samples_in_collectives = 80;
    for (int i = 0; i < 1000; ++i) {
      view.connections.push_back(between(rank, i % kHosts, rank == 7 || i % kHosts == 7));
    }
  }
  // If this took quadratic time, CTest's time-out would end the test.
  EXPECT_EQ(judge_slow(scene).hosts, std::vector<std::string>{"n8"});
}

}  // namespace
}  // namespace muster::why
