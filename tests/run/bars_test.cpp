#include "run/bars.hpp"

#include <gtest/gtest.h>

#include "base/output_line.hpp"
#include "run/streams.hpp"

namespace muster::run {
namespace {

Source bar_of(int number) {
  return {.rank = number, .host = "n1"};
}

std::string live_text(const Bars& bars) {
  const auto* live = bars.live();
  return live == nullptr ? "" : label_of({live->from}) + " " + live->text;
}

TEST(BarsTest, OfALineTheLastDrawingCounts) {
  struct Case {
    std::string line, drawn;
    bool bar;
  };
  for (const Case& one :
       {Case{"plain\n", "plain", false}, Case{"dos\r\n", "dos", false},
        Case{"\r 10%\r 20%", " 20%", true}, Case{"10%\r20%\r", "20%", true},
        Case{"\r100%\n", "100%", true}, Case{"\r 50%\r    \rdone\n", "done", false},
        Case{"\n", "", false}, Case{"\r\r\n", "", false},
        Case{"\r\x1b[2K 50%", "\x1b[2K 50%", true},
        Case{"\r\x1b[2K 50%\r\x1b[2Ka line above\n", "\x1b[2Ka line above", false}}) {
    EXPECT_EQ(last_drawn(one.line), one.drawn) << one.line;
    EXPECT_EQ(is_bar(one.line), one.bar) << one.line;
  }
}

TEST(BarsTest, ABarFitsIntoItsLine) {
  EXPECT_EQ(fitted("100%|####|", 6), "100%|#");
  EXPECT_EQ(fitted("\x1b[32m\u2588\u2588\u2588\x1b[0m|", 2), "\x1b[32m\u2588\u2588");
  EXPECT_EQ(fitted("\x1b[2K\x1b[1Ab\x1b]0;title\x07\tc", 80), "b c");
  EXPECT_EQ(fitted("\u6f22\u5b57", 3), "\u6f22");
}

TEST(BarsTest, TheBarOfTheLowestRankIsShown) {
  Bars bars;
  bars.grow(kErr, bar_of(2), "\r 5%");
  EXPECT_EQ(live_text(bars), "[n1:2]  5%");
  bars.grow(kErr, bar_of(0), "\r 1%");
  EXPECT_EQ(live_text(bars), "[n1:0]  1%");
  bars.grow(kErr, bar_of(2), "\r 5%\r 6%");
  EXPECT_EQ(live_text(bars), "[n1:0]  1%");
  EXPECT_FALSE(bars.shows(2));
  bars.end(kErr, bar_of(0), "\r 1%\r100%\n");
  EXPECT_EQ(live_text(bars), "") << "others stay out of the way";
  bars.grow(kErr, bar_of(2), "\r 5%\r 6%\r 7%");
  EXPECT_EQ(live_text(bars), "");
}

TEST(BarsTest, ALineThatWaitsForItsEndIsSeen) {
  Bars bars;
  bars.grow(kOut, bar_of(1), "loading");
  EXPECT_EQ(live_text(bars), "[n1:1] loading");
  bars.grow(kErr, bar_of(1), "\r 10%");
  EXPECT_EQ(live_text(bars), "[n1:1]  10%");
  bars.end(kErr, bar_of(1), "\r 10%\n");
  EXPECT_EQ(live_text(bars), "[n1:1] loading");
  bars.grow(kOut, bar_of(1), "");
  EXPECT_EQ(live_text(bars), "");
}

TEST(BarsTest, NestedBarsMoveUpOnceEach) {
  Bars bars;
  EXPECT_EQ(bars.end(kErr, bar_of(0), "\r outer\n"), 0U);
  EXPECT_EQ(bars.grow(kErr, bar_of(0), "\r inner\x1b["), 0U);
  EXPECT_FALSE(bars.is_tall(kErr, 0));
  EXPECT_EQ(bars.grow(kErr, bar_of(0), "\r inner\x1b[A"), 1U);
  EXPECT_TRUE(bars.is_tall(kErr, 0));
  EXPECT_EQ(bars.grow(kErr, bar_of(0), "\r inner\x1b[A\r outer"), 0U);
  EXPECT_EQ(bars.end(kErr, bar_of(0), "\r inner\x1b[A\r outer\n"), 0U);
  EXPECT_EQ(bars.end(kErr, bar_of(0), "\x1b[2A\x1b[2Krow\n"), 2U);
  EXPECT_EQ(bars.end(kErr, bar_of(0), "\x1b[1A\x1b[2K\x1b[1A\x1b[A\x1b[2Krow\n"), 3U);
  EXPECT_EQ(bars.end(kErr, bar_of(0), "\x1b[99999999999999999999999A\x1b[99A\x1b[2Bx\n"), 32U);
  EXPECT_EQ(bars.end(kErr, bar_of(0), "\x1b[2Bdown\n"), 0U);
}

TEST(BarsTest, WhatLeavesTheLineBlankIsNotShown) {
  Bars bars;
  for (const std::string line : {"\r 50%\r    \r", "\x1b[?25h", "\r\x1b[2K"}) {
    bars.grow(kErr, bar_of(0), line);
    EXPECT_EQ(live_text(bars), "") << line;
    EXPECT_TRUE(shows_nothing(line + "\n")) << line;
  }
  for (const std::string line : {"\n", "\r\n", "  \n", "\r 50%\n", "\x1b[31mred\n"}) {
    EXPECT_FALSE(shows_nothing(line)) << line;
  }
}

TEST(BarsTest, OfAVeryLongLineOnlyTheEndIsSearched) {
  Bars bars;
  const std::string dots(1 << 20, '.');
  bars.grow(kErr, bar_of(0), dots + "\r 50%");
  EXPECT_EQ(live_text(bars), "[n1:0]  50%");
  Bars others;
  others.grow(kErr, bar_of(0), "\r" + dots);
  EXPECT_TRUE(others.shows(1)) << "a carriage return so far back makes no bar";
}

}  // namespace
}  // namespace muster::run
