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

TEST(CutLines, MarksWhatIsLeftOut) {
  EXPECT_EQ(cut_lines("one two three", 8, 2), (Lines{"one two", "three"}));
  EXPECT_EQ(cut_lines("one two three four", 8, 2), (Lines{"one two", "three..."}));
  EXPECT_EQ(cut_lines("one two", 3, 1), (Lines{"..."}));
  EXPECT_EQ(cut_lines("abcdefghij", 8, 1), (Lines{"abcde..."}));
  EXPECT_EQ(cut_lines("\u00e4\u00e4\u00e4\u00e4\u00e4", 8, 1), (Lines{"\u00e4\u00e4..."}));
  EXPECT_EQ(cut_lines("", 8, 1), Lines{});
  EXPECT_EQ(cut_lines("a b", 8, 0), Lines{});
}

}  // namespace
}  // namespace muster::report
