#include "bench/rounds.hpp"

#include <set>

#include <gtest/gtest.h>

namespace muster::bench {
namespace {

TEST(Rounds, EveryPairMeetsOnceInDisjointRounds) {
  for (int hosts = 0; hosts <= 65; ++hosts) {
    const auto rounds = all_pairs(hosts);
    std::set<std::pair<int, int>> met;
    for (const Round& round : rounds) {
      std::set<int> busy;
      for (const auto& [one, other] : round) {
        EXPECT_LT(one, other);
        EXPECT_TRUE(busy.insert(one).second && busy.insert(other).second);
        EXPECT_TRUE(met.insert({one, other}).second) << one << " and " << other << " met before";
      }
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(hosts * (hosts - 1) / 2)) << hosts;
    EXPECT_EQ(rounds.size(), hosts < 2 ? 0U : static_cast<std::size_t>(hosts - 1 + hosts % 2));
  }
}

TEST(Rounds, OfASampleEveryHostMeetsAsManyOthers) {
  for (const int hosts : {65, 128, 200, 1000}) {
    const auto rounds = all_pairs(hosts, 16);
    ASSERT_EQ(rounds.size(), 16U);
    std::vector<std::set<int>> met(static_cast<std::size_t>(hosts));
    for (const Round& round : rounds) {
      for (const auto& [one, other] : round) {
        met[static_cast<std::size_t>(one)].insert(other);
        met[static_cast<std::size_t>(other)].insert(one);
      }
    }
    for (const auto& others : met) EXPECT_GE(others.size(), 15U);
  }
}

TEST(Rounds, AreWrittenAsMusterBenchReadsThem) {
  EXPECT_EQ(to_words({{{0, 1}, {2, 3}}, {{0, 2}, {1, 3}}}), "0-1,2-3;0-2,1-3");
  EXPECT_EQ(to_words({}), "");
}

TEST(Rounds, OfManyHostsOnlyWhatACommandLineHolds) {
  EXPECT_EQ(pairs_that_fit(8, 0).size(), 7U);
  const auto rounds = pairs_that_fit(400, 0);
  EXPECT_GE(rounds.size(), 20U);
  EXPECT_LT(rounds.size(), 399U);
  EXPECT_LT(to_words(rounds).size(), 128U << 10);
}

}  // namespace
}  // namespace muster::bench
