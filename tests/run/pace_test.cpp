#include "run/pace.hpp"

#include <gtest/gtest.h>

namespace muster::run {
namespace {

constexpr std::size_t kPacedLine = 60;
constexpr std::int64_t kPacedCost = kPacedLine + Pace::kPerLine;

Pace::Clock::time_point pace_at(double seconds) {
  return Pace::Clock::time_point(std::chrono::duration_cast<Pace::Clock::duration>(
      std::chrono::duration<double>(1000 + seconds)));
}

// The rank prints this many lines at once. Returns how many are shown.
std::int64_t print_lines(Pace& pace, int rank, std::int64_t lines, double at_s) {
  std::int64_t shown = 0;
  for (std::int64_t i = 0; i < lines; ++i) {
    if (pace.has_room(rank, kPacedLine, pace_at(at_s))) {
      pace.count_shown(rank, kPacedLine);
      ++shown;
    } else {
      pace.count_left_out(1);
    }
  }
  return shown;
}

TEST(PaceTest, ABurstIsShownInFull) {
  Pace pace(64);
  EXPECT_EQ(print_lines(pace, 0, 10'000, 0), 10'000);
  EXPECT_FALSE(pace.has_left_out());
}

TEST(PaceTest, OfAFloodTheBeginningOfEachSecondIsShown) {
  Pace pace(1);
  (void)print_lines(pace, 0, 100'000, 0);  // uses up the burst and the rank's own share
  for (int second = 1; second <= 100; ++second) {
    (void)print_lines(pace, 0, 10'000, second);
    EXPECT_EQ(print_lines(pace, 0, 10'000, second + 0.5), 0);
  }
  const std::int64_t shown = print_lines(pace, 0, 10'000, 101);
  EXPECT_GT(shown, 0);
  EXPECT_LE(shown * kPacedCost, 2 * Pace::kPerSecond + 2 * kPacedCost);
}

TEST(PaceTest, AfterAQuietTimeABurstIsShownAgain) {
  Pace pace(1);
  (void)print_lines(pace, 0, 100'000, 0);
  EXPECT_EQ(print_lines(pace, 0, 10'000, 60), 10'000);
}

TEST(PaceTest, ARankThatFloodsDoesNotHideTheOthers) {
  Pace pace(4);
  for (int second = 0; second < 600; ++second) {
    (void)print_lines(pace, 0, 50'000, second);
    EXPECT_EQ(print_lines(pace, 1, 5, second + 0.5), 5) << "in second " << second;
  }
}

TEST(PaceTest, ATracebackOfAQuietRankIsWholeEvenIfAllOthersFlood) {
  constexpr int kRanks = 64;
  Pace pace(kRanks);
  for (int second = 0; second < 60; ++second) {
    for (int rank = 1; rank < kRanks; ++rank) (void)print_lines(pace, rank, 1000, second);
  }
  EXPECT_EQ(print_lines(pace, 0, 100, 59.5), 100);
}

TEST(PaceTest, ALongLineDoesNotSilenceItsRank) {
  constexpr std::size_t kLong = std::size_t{1} << 20;
  Pace pace(64);
  (void)print_lines(pace, 1, 100'000, 0);
  EXPECT_FALSE(pace.has_room(0, kLong, pace_at(0)));
  EXPECT_EQ(print_lines(pace, 0, 40, 0), 40);
}

TEST(PaceTest, OfThousandsOfRanksThatFloodOnlyAPartIsShown) {
  constexpr int kRanks = 5000;
  Pace pace(kRanks);
  std::int64_t shown = 0;
  for (int rank = 0; rank < kRanks; ++rank) shown += print_lines(pace, rank, 500, 0);
  EXPECT_LE(shown * kPacedCost, Pace::kBurst + kRanks * Pace::kLeastOwnBurst + kPacedCost);
}

TEST(PaceTest, AllRanksTogetherStayWithinTheRate) {
  constexpr int kRanks = 64;
  constexpr std::int64_t kSeconds = 100;
  Pace pace(kRanks);
  std::int64_t shown = 0;
  for (int second = 0; second < kSeconds; ++second) {
    for (int rank = 0; rank < kRanks; ++rank) shown += print_lines(pace, rank, 500, second);
  }
  EXPECT_LE(shown * kPacedCost,
            Pace::kBurst + kRanks * Pace::kOwnBurst + (2 * kSeconds + 2) * Pace::kPerSecond);
}

TEST(PaceTest, WhatIsLeftOutIsCountedAndToldWhenItsSecondIsOver) {
  Pace pace(1);
  const std::int64_t shown = print_lines(pace, 0, 100'000, 0);
  EXPECT_TRUE(pace.has_left_out());
  EXPECT_EQ(pace.take_left_out(pace_at(0.5)), 0U);
  EXPECT_EQ(pace.take_left_out(pace_at(1)), static_cast<std::uint64_t>(100'000 - shown));
  EXPECT_FALSE(pace.has_left_out());
  pace.count_left_out(7);
  EXPECT_EQ(pace.take_all_left_out(), 7U);
}

}  // namespace
}  // namespace muster::run
