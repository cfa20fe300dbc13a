#include "base/printable.hpp"

#include <string>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Printable, NoControlCharacterReachesATerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\tc\xff\nd"), "a?[31mb?c??d");
  EXPECT_EQ(printable_lines("a\x1b[31mb\tc\xff\nd"), "a?[31mb?c?\nd");
}

TEST(Printable, LinesAsSshWritesThemAreJustLines) {
  EXPECT_EQ(printable_lines("timed out\r\n"), "timed out\n");
  EXPECT_EQ(printable_lines("over\rwritten"), "over?written");
}

TEST(Printable, TextInUtf8Stays) {
  const std::string text = "J\u00f6rg \u2713 \u6f22 \U0001F600";
  EXPECT_EQ(printable(text), text);
}

TEST(Printable, CharactersThatControlOrTurnTextDoNot) {
  EXPECT_EQ(printable("a\u009b6n"), "a?6n");
  EXPECT_EQ(printable("a\u202e\u2066z"), "a??z");
  EXPECT_EQ(printable("a\x9b\xc3z\xe2\x82"), "a??z??");
  EXPECT_EQ(printable("\xed\xa0\x80"), "?");
}

}  // namespace
}  // namespace muster
