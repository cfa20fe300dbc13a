#include "report/wrap.hpp"

#include <gtest/gtest.h>

namespace muster::report {
namespace {

using Lines = std::vector<std::string>;

TEST(Wrap, BreaksBetweenWordsOnly) {
  EXPECT_EQ(wrap("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrap("one two three", 6), (Lines{"one", "two", "three"}));
  EXPECT_EQ(wrap("a /very/long/path b", 5), (Lines{"a", "/very/long/path", "b"}));
}

TEST(Wrap, KeepsLineEndsAndDropsBlanks) {
  EXPECT_EQ(wrap("  one  \n\ntwo", 80), (Lines{"one", "two"}));
  EXPECT_EQ(wrap("", 80), Lines{});
  EXPECT_EQ(wrap("   ", 80), Lines{});
}

TEST(Wrap, IndentsUnderTheFirstLine) {
  EXPECT_EQ(indented("fix: ", "chmod 600 a b", 14), "fix: chmod 600\n     a b\n");
  EXPECT_EQ(indented("fix: ", "", 14), "");
  EXPECT_EQ(indented("longer than that: ", "a b", 4), "longer than that: a\n                  b\n");
}

}  // namespace
}  // namespace muster::report
