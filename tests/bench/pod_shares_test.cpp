#include "bench/pod_shares.hpp"

#include <gtest/gtest.h>

namespace muster::bench {
namespace {

using Shares = std::vector<PodShare>;

TEST(PodShares, FillThePodBeforeTheNext) {
  EXPECT_EQ(pod_shares(4, 8), (Shares{{1, 2}, {1, 4}, {1, 8}, {2, 8}, {4, 8}}));
  EXPECT_EQ(pod_shares(2, 1), (Shares{{2, 1}}));
  EXPECT_EQ(pod_shares(1, 2), (Shares{{1, 2}}));
}

TEST(PodShares, EndWithAllPodsAndRanks) {
  EXPECT_EQ(pod_shares(3, 6), (Shares{{1, 2}, {1, 4}, {1, 6}, {2, 6}, {3, 6}}));
}

TEST(PodShares, OneRankHasNobodyToTalkTo) {
  EXPECT_EQ(pod_shares(1, 1), Shares{});
}

}  // namespace
}  // namespace muster::bench
