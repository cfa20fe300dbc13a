#include "run/log_filter.hpp"

#include <gtest/gtest.h>

#include "run/streams.hpp"

namespace muster::run {
namespace {

constexpr const char* kLines = "[n1:0] loss 3\n[n2:1] loss 4\n[n1:2] saved\n";

TEST(Ranks, AreNumbersAndRanges) {
  EXPECT_EQ(parse_ranks("3").value(), (std::set<int>{3}));
  EXPECT_EQ(parse_ranks("0,4-6").value(), (std::set<int>{0, 4, 5, 6}));
  for (const char* none : {"", ",", "a", "-1", "3-", "6-4", "1,,2", "0-99999999", "1 2"}) {
    EXPECT_FALSE(parse_ranks(none)) << none;
  }
}

TEST(Label, IsSplitFromTheLine) {
  const LabelledLine line = split_label("[node-1:12] [x:3] text");
  EXPECT_EQ(line.host, "node-1");
  EXPECT_EQ(line.rank, 12);
  EXPECT_EQ(line.text, "[x:3] text");
  EXPECT_EQ(split_label("[fe80::1:3] x").host, "fe80::1");
  for (const char* none : {"", "[", "text", "[n1:0]", "[n1] x", "[n1:x] x", "[engine] x"}) {
    EXPECT_EQ(split_label(none).rank, -1) << none;
    EXPECT_EQ(split_label(none).text, none);
  }
}

std::string filtered(LogWish wish, const std::string& text = kLines) {
  LogFilter filter(std::move(wish));
  std::string shown;
  for (const char byte : text) shown += filter.take(kOut, std::string_view(&byte, 1));
  return shown + filter.rest();
}

TEST(LogFilter, ChoosesRanksHostsAndPatterns) {
  EXPECT_EQ(filtered({}), kLines);
  EXPECT_EQ(filtered({.ranks = {1, 2}}), "[n2:1] loss 4\n[n1:2] saved\n");
  EXPECT_EQ(filtered({.ranks = {2}, .labels = false}), "saved\n");
  EXPECT_EQ(filtered({.hosts = {"n1"}}), "[n1:0] loss 3\n[n1:2] saved\n");
  EXPECT_EQ(filtered({.pattern = Pattern::compile("loss [0-3]$").value()}), "[n1:0] loss 3\n");
  EXPECT_EQ(filtered({.pattern = Pattern::compile("n1").value()}), "") << "labels do not count";
  EXPECT_EQ(filtered({.stream = kErr}), "");
}

TEST(LogFilter, ShowsALineThatNeverEnds) {
  EXPECT_EQ(filtered({.ranks = {3}}, "[n1:3] cut o"), "[n1:3] cut o");
}

TEST(Pattern, ThatIsWrongIsRefusedWithTheReason) {
  const auto pattern = Pattern::compile("a(b");
  ASSERT_FALSE(pattern);
  EXPECT_EQ(pattern.error().code, ErrorCode::kUsage);
  EXPECT_NE(pattern.error().what.find("'a(b' is not a regular expression: "), std::string::npos);
}

TEST(Pattern, StandsALongLineAndZeroBytes) {
  const Pattern pattern = Pattern::compile("x*y").value();
  EXPECT_TRUE(pattern.is_in(std::string(1 << 20, 'x') + "y"));
  EXPECT_TRUE(pattern.is_in(std::string_view("a\0y", 3)));
}

}  // namespace
}  // namespace muster::run
