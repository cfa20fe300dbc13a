#include "run/show.hpp"

#include <gtest/gtest.h>

namespace muster::run {
namespace {

TEST(ShowTest, FoldsOnTerminalsUnlessToldOtherwise) {
  EXPECT_TRUE(Show().folds(true));
  EXPECT_FALSE(Show().folds(false));
  EXPECT_TRUE(parse_show("folded")->folds(false));
  EXPECT_FALSE(parse_show("all")->folds(true));
  EXPECT_TRUE(parse_show("first-per-host")->first_per_host);
}

TEST(ShowTest, RanksAreAList) {
  EXPECT_TRUE(parse_show("all")->shows(7));
  EXPECT_EQ(*parse_show("0")->ranks, std::set<int>{0});
  EXPECT_TRUE(parse_show("0,8,12")->shows(8));
  EXPECT_FALSE(parse_show("0,8,12")->shows(1));
}

TEST(ShowTest, NonsenseIsRefused) {
  for (const char* const text : {"", ",", "0,", "-1", "1x", "first", "99999999999"}) {
    const auto show = parse_show(text);
    ASSERT_FALSE(show) << text;
    EXPECT_EQ(show.error().code, ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace muster::run
