#include "run/reach_rounds.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace muster::run {
namespace {

TEST(ReachRounds, EverybodyMeetsEverybodyOnce) {
  for (const std::size_t hosts : {2, 3, 4, 5, 16, 17, 255, 256}) {
    const auto peers = peers_in_rounds(hosts);
    ASSERT_EQ(peers.size(), hosts);
    for (std::size_t host = 0; host < hosts; ++host) {
      const std::set<std::size_t> met(peers[host].begin(), peers[host].end());
      EXPECT_EQ(met.size(), peers[host].size()) << hosts;
      EXPECT_EQ(met.size(), hosts - 1) << hosts;
      EXPECT_FALSE(met.contains(host)) << hosts;
      EXPECT_LT(*met.rbegin(), hosts);
    }
  }
}

TEST(ReachRounds, AreDisjointPairs) {
  for (const std::size_t hosts : {2, 4, 16, 256}) {
    const auto peers = peers_in_rounds(hosts);
    for (std::size_t round = 0; round < hosts - 1; ++round) {
      for (std::size_t host = 0; host < hosts; ++host) {
        EXPECT_EQ(peers[peers[host][round]][round], host) << hosts << " hosts, round " << round;
      }
    }
  }
}

TEST(ReachRounds, OfManyHostsAreASample) {
  for (const std::size_t hosts : {257, 1000, 10000}) {
    const auto peers = peers_in_rounds(hosts);
    std::vector<std::size_t> callers(hosts);
    for (std::size_t host = 0; host < hosts; ++host) {
      const std::set<std::size_t> met(peers[host].begin(), peers[host].end());
      EXPECT_EQ(met.size(), peers[host].size());
      EXPECT_FALSE(met.contains(host));
      EXPECT_TRUE(met.contains((host + 1) % hosts) && met.contains((host + hosts - 1) % hosts));
      EXPECT_TRUE(host == 0 || met.contains(0));
      EXPECT_GE(met.size(), 24);
      EXPECT_LE(met.size(), 40);
      for (const std::size_t peer : met) ++callers[peer];
    }
    EXPECT_EQ(callers[0], hosts - 1);
    EXPECT_LE(*std::max_element(callers.begin() + 1, callers.end()), 40);
  }
}

TEST(ReachRounds, OfOneHostAreNone) {
  EXPECT_TRUE(peers_in_rounds(0).empty());
  EXPECT_TRUE(peers_in_rounds(1).front().empty());
}

}  // namespace
}  // namespace muster::run
