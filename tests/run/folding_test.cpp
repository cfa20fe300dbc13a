#include "run/folding.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/streams.hpp"

namespace muster::run {
namespace {

using std::chrono::milliseconds;

Folding::Clock::time_point at(int ms) {
  return Folding::Clock::time_point() + std::chrono::hours(1) + milliseconds(ms);
}

std::string text_of(const std::vector<Folding::Line>& lines) {
  std::string text;
  for (const auto& line : lines) text += label_of(line.from) + " " + line.text;
  return text;
}

// Four ranks on each host.
Source rank(int number) {
  return {.rank = number, .host = "n" + std::to_string(number / 4 + 1)};
}

void add(Folding& folding, int number, const std::string& text, int ms) {
  folding.add(kOut, rank(number), text + "\n", false, at(ms));
}

TEST(Label, FoldsHostsAndRanks) {
  std::vector<Source> all;
  for (int i = 0; i < 32; ++i) all.push_back({.rank = i, .host = fmt::format("n{}", i / 8 + 1)});
  EXPECT_EQ(label_of({rank(5)}), "[n2:5]");
  EXPECT_EQ(label_of(all), "[n[1-4]:0-31]");
  EXPECT_EQ(label_of({rank(0), rank(1), rank(3), rank(9)}), "[n[1,3]:0-1,3,9]");
}

TEST(FoldingTest, EqualLinesOfAllRanksAreOneLineAtOnce) {
  Folding folding(64, true);
  for (int number = 0; number < 64; ++number) {
    EXPECT_TRUE(folding.take_due(at(number)).empty());
    for (int line = 0; line < 100; ++line) add(folding, number, std::to_string(line), number);
  }
  const auto lines = folding.take_due(at(64));
  ASSERT_EQ(lines.size(), 100U);
  EXPECT_EQ(text_of({lines[99]}), "[n[1-16]:0-63] 99\n");
  EXPECT_TRUE(folding.empty());
}

TEST(FoldingTest, ALineWaitsForOthersAShortTimeOnly) {
  Folding folding(8, true);
  add(folding, 0, "x", 0);
  add(folding, 1, "x", 150);
  EXPECT_EQ(text_of(folding.take_due(at(349))), "");
  EXPECT_EQ(text_of(folding.take_due(at(350))), "[n1:0-1] x\n");
  // Each joins the line just before the quiet time has passed, so only the limit of 1 s shows it.
  for (int i = 0; i < 7; ++i) add(folding, i, "y", 1000 + 199 * i);
  EXPECT_EQ(text_of(folding.take_due(at(1999))), "");
  EXPECT_EQ(text_of(folding.take_due(at(2000))), "[n[1-2]:0-6] y\n");
  add(folding, 7, "y", 2001);
  EXPECT_EQ(text_of(folding.take_due(at(2201))), "[n2:7] y\n");
}

TEST(FoldingTest, TheLinesOfARankKeepTheirOrder) {
  Folding folding(2, true);
  for (const char* const text : {"a", "b", "a", "c"}) add(folding, 0, text, 0);
  for (const char* const text : {"b", "a", "a", "c"}) add(folding, 1, text, 1);
  EXPECT_EQ(text_of(folding.take_all()),
            "[n1:0] a\n[n1:0-1] b\n[n1:0-1] a\n[n1:0] c\n[n1:1] a\n[n1:1] c\n");
}

TEST(FoldingTest, ALineThatARankRepeatsIsNotFoldedWithItself) {
  Folding folding(2, true);
  for (int i = 0; i < 3; ++i) add(folding, 0, "same", 0);
  add(folding, 1, "same", 0);
  EXPECT_EQ(text_of(folding.take_all()), "[n1:0-1] same\n[n1:0] same\n[n1:0] same\n");
}

TEST(FoldingTest, StandardOutputAndErrorStayApartAndInOrder) {
  Folding folding(2, true);
  folding.add(kOut, rank(0), "x\n", false, at(0));
  folding.add(kErr, rank(0), "x\n", false, at(0));
  folding.add(kErr, rank(1), "x\n", false, at(0));
  const auto lines = folding.take_all();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].stream, kOut);
  EXPECT_EQ(label_of(lines[1].from), "[n1:0-1]");
}

TEST(FoldingTest, WithoutJoiningNothingWaits) {
  Folding folding(2, false);
  add(folding, 0, "x", 0);
  add(folding, 1, "x", 0);
  EXPECT_EQ(text_of(folding.take_due(at(0))), "[n1:0] x\n[n1:1] x\n");
}

TEST(FoldingTest, WhatIsDrawnOverIsNotShown) {
  Folding folding(1, true);
  folding.add(kErr, rank(0), "outer 1\n", true, at(0));
  EXPECT_TRUE(folding.take_due(at(10)).empty());  // it waits, although all ranks have printed it
  folding.withdraw(kErr, 0, 1);
  folding.add(kErr, rank(0), "outer 2\n", true, at(20));
  EXPECT_EQ(text_of(folding.take_due(at(300))), "[n1:0] outer 2\n");
  folding.withdraw(kErr, 0, 1);  // too late, because it was already shown
  EXPECT_TRUE(folding.empty());
}

TEST(FoldingTest, OfWhatSeveralRanksSaidEachWithdrawsItsOwn) {
  Folding folding(3, true);
  add(folding, 0, "x", 0);
  add(folding, 1, "x", 0);
  folding.withdraw(kOut, 1, 1);
  EXPECT_EQ(text_of(folding.take_all()), "[n1:0] x\n");
}

TEST(FoldingTest, TheRowsOfABarAreWithdrawnAndNothingElse) {
  Folding folding(2, true);
  add(folding, 0, "a line", 0);
  folding.add(kErr, rank(0), "row 1\n", true, at(0));
  folding.skip(kErr, 0);
  folding.add(kErr, rank(0), "row 3\n", true, at(0));
  add(folding, 0, "another line", 0);  // on standard output
  folding.withdraw(kErr, 0, 3);
  EXPECT_EQ(text_of(folding.take_all()), "[n1:0] a line\n[n1:0] another line\n");
}

TEST(FoldingTest, WhatWaitsHasALimit) {
  Folding folding(2, true);
  for (int i = 0; i < 30'000; ++i) add(folding, 0, std::to_string(i), 0);
  EXPECT_EQ(folding.take_due(at(0)).size(), 10'000U);
  const std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) add(folding, 0, megabyte, 0);
  EXPECT_GT(folding.take_due(at(0)).size(), 20'000U);
  EXPECT_FALSE(folding.empty());
}

}  // namespace
}  // namespace muster::run
