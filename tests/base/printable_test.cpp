#include "base/printable.hpp"

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

}  // namespace
}  // namespace muster
