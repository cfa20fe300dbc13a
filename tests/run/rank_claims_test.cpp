#include "run/rank_claims.hpp"

#include <gtest/gtest.h>

namespace muster::run {
namespace {

// Two ranks on each of three hosts, as the Layout places them.
std::vector<RankRecord> placed() {
  std::vector<RankRecord> ranks;
  for (int rank = 0; rank < 6; ++rank) {
    ranks.push_back({.rank = rank, .host = "n" + std::to_string(rank / 2 + 1)});
  }
  return ranks;
}

class RankClaimsTest : public testing::Test {
 protected:
  // Claims that the host has started the rank. Returns whether the claim is believed.
  bool start(const std::string& host, int rank) {
    RankRecord& record = ranks_[static_cast<std::size_t>(rank)];
    if (!claims_.may_start(host, record)) return false;
    claims_.started(host, rank);
    record.host = host;
    record.start = agent::RankStart{.rank = rank};
    return true;
  }

  std::vector<RankRecord> ranks_ = placed();
  RankClaims claims_{ranks_, true};
};

TEST_F(RankClaimsTest, AnEngineMayDealRanksOutInItsOwnOrder) {
  for (int rank = 0; rank < 6; ++rank) {
    EXPECT_TRUE(start("n" + std::to_string(rank % 3 + 1), rank)) << rank;
  }
}

TEST_F(RankClaimsTest, AHostGetsNoMoreRanksThanItHasPlacesFor) {
  EXPECT_TRUE(start("n3", 0));
  EXPECT_TRUE(start("n3", 1));
  EXPECT_FALSE(start("n3", 2));
  EXPECT_FALSE(start("n3", 4));  // n3's own rank, but n3 has started two others
  EXPECT_FALSE(start("n9", 3));  // a host without ranks
}

TEST_F(RankClaimsTest, TheHostThatARankWasPlacedOnTakesItBack) {
  EXPECT_TRUE(start("n3", 0));
  EXPECT_FALSE(start("n2", 0));
  EXPECT_TRUE(start("n1", 0));
  EXPECT_FALSE(start("n3", 0));
  EXPECT_FALSE(claims_.may_end("n3", ranks_[0]));
  EXPECT_TRUE(claims_.may_end("n1", ranks_[0]));
}

TEST_F(RankClaimsTest, ARankThatNobodyStartedEndsOnlyWhereItWasPlaced) {
  EXPECT_FALSE(claims_.may_end("n3", ranks_[0]));
  EXPECT_TRUE(claims_.may_end("n1", ranks_[0]));
}

TEST_F(RankClaimsTest, OutputComesFromWhereTheRankRuns) {
  EXPECT_FALSE(claims_.may_print("n3", ranks_[0]));
  EXPECT_TRUE(claims_.may_print("n1", ranks_[0]));
  EXPECT_TRUE(start("n3", 0));
  EXPECT_TRUE(claims_.may_print("n3", ranks_[0]));
  EXPECT_TRUE(start("n1", 0));
  EXPECT_FALSE(claims_.may_print("n3", ranks_[0]));
  EXPECT_TRUE(claims_.may_have_printed("n3", 0));  // possible if the engine moved the rank
}

TEST_F(RankClaimsTest, WhereARankRunsIsSettledWhenItsOwnHostCannotHaveIt) {
  EXPECT_TRUE(start("n1", 0));
  EXPECT_TRUE(claims_.is_settled(ranks_[0]));
  EXPECT_TRUE(start("n3", 1));
  EXPECT_FALSE(claims_.is_settled(ranks_[1]));
  EXPECT_TRUE(start("n1", 5));
  EXPECT_TRUE(claims_.is_settled(ranks_[1]));
}

TEST_F(RankClaimsTest, TheUsersOwnFlagsMayGiveAHostMore) {
  claims_ = RankClaims(ranks_, false);
  for (int rank = 0; rank < 6; ++rank) EXPECT_TRUE(start("n1", rank)) << rank;
}

}  // namespace
}  // namespace muster::run
