#include "run/floods.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace muster::run {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;

Floods::Clock::time_point flood_at(double seconds) {
  return Floods::Clock::time_point(std::chrono::duration_cast<Floods::Clock::duration>(
      std::chrono::duration<double>(1000 + seconds)));
}

// The host reports every 2 s that the rank waits for this share of the time and prints 2 MB/s.
// Returns everything that was said.
std::string report_waits(Floods& floods, int rank, double share, double from_s, double until_s) {
  std::string said;
  for (double now = from_s; now <= until_s; now += 2) {
    floods.take("n1", rank, now * share, static_cast<std::uint64_t>(now) * 2 * kMegabyte,
                flood_at(now));
    said += floods.news(flood_at(now));
  }
  return said;
}

TEST(FloodsTest, ARankThatWaitsMostOfTheTimeIsNamedOnce) {
  Floods floods;
  EXPECT_EQ(report_waits(floods, 3, 0.8, 0, 100),
            "rank 3 on n1 prints faster than muster can pass the output on (2.0 MB/s), and had to "
            "wait for 8 s of the last 10 s; print less, or write to a file");
}

TEST(FloodsTest, ABurstIsNot) {
  Floods floods;
  EXPECT_EQ(report_waits(floods, 3, 1, 0, 8), "");
  EXPECT_EQ(report_waits(floods, 3, 0.05, 200, 300), "");
}

TEST(FloodsTest, RanksThatFloodTogetherAreNamedTogether) {
  Floods floods;
  for (double now = 0; now <= 10; now += 2) {
    for (int rank = 0; rank < 64; ++rank) {
      floods.take("n" + std::to_string(1 + rank / 8), rank, now * 0.9, 0, flood_at(now));
      EXPECT_EQ(floods.news(flood_at(now)), "");
    }
  }
  const std::string said = floods.news(flood_at(15));
  EXPECT_TRUE(said.starts_with("64 ranks (0-63) on n[1-8] print faster than ")) << said;
  EXPECT_NE(said.find(" in all), and had to wait for up to 9 s of the last 10 s;"),
            std::string::npos)
      << said;
}

TEST(FloodsTest, WhatAHostCannotKnowIsNotRepeated) {
  Floods floods;
  for (double now = 0; now <= 20; now += 2) {
    floods.take("n1", 0, now * 1e100, 0, flood_at(now));
    floods.take("n1", 1, -now, 0, flood_at(now));
  }
  EXPECT_NE(floods.news(flood_at(30)).find("wait for 10 s of the last 10 s"), std::string::npos);
}

RankRecord ended_after(int rank, double lived_s, double waited_s, std::uint64_t bytes) {
  return {.rank = rank,
          .host = "n1",
          .start = agent::RankStart{.rank = rank, .time_s = 100},
          .end = agent::RankEnd{
              .rank = rank, .time_s = 100 + lived_s, .out_bytes = bytes, .waited_s = waited_s}};
}

TEST(FloodsTest, AtTheEndRanksThatWaitedForLongAreNamed) {
  EXPECT_EQ(waits_text({.id = "r1", .ranks = {ended_after(0, 40, 25, 812 * kMegabyte)}}),
            "rank 0 on n1 printed 812.0 MB and had to wait for 25 s until muster had passed it on");
  EXPECT_EQ(waits_text({.id = "r1",
                        .ranks = {ended_after(0, 40, 25, kMegabyte), ended_after(1, 40, 0, 1),
                                  ended_after(2, 40, 30, kMegabyte)}}),
            "2 ranks (0,2) on n1 printed 2.0 MB and had to wait for up to 30 s until muster had "
            "passed it on");
}

TEST(FloodsTest, AHostCannotClaimMoreThanIsPossible) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::string text =
      waits_text({.id = "r1",
                  .started_s = 100,
                  .ended_s = 160,
                  .ranks = {ended_after(0, 1e9, 1e9, kMost), ended_after(1, 1e9, 1e9, kMost)}});
  EXPECT_NE(text.find(" printed 1000000.0 TB and had to wait for up to 60 s "), std::string::npos)
      << text;
}

TEST(FloodsTest, OfNormalRanksNothingIsSaid) {
  EXPECT_EQ(waits_text({.id = "r1",
                        .ranks = {ended_after(0, 40, 0, kMegabyte),     // never waited
                                  ended_after(1, 3, 2, kMegabyte),      // a short time
                                  ended_after(2, 3600, 20, kMegabyte),  // a small part of its time
                                  {.rank = 3, .host = "n1"}}}),
            "");
}

}  // namespace
}  // namespace muster::run
