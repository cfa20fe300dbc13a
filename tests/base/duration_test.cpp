#include "base/duration.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Duration, HasUnits) {
  EXPECT_EQ(parse_duration("90"), 90);
  EXPECT_EQ(parse_duration("0"), 0);
  EXPECT_EQ(parse_duration("0.5"), 0.5);
  EXPECT_EQ(parse_duration("30s"), 30);
  EXPECT_EQ(parse_duration("1.5s"), 1.5);
  EXPECT_EQ(parse_duration("5m"), 300);
  EXPECT_EQ(parse_duration("2h"), 7200);
  EXPECT_EQ(parse_duration("1h30m"), 5400);
  EXPECT_EQ(parse_duration("1h2m3s"), 3723);
  EXPECT_EQ(parse_duration("1.1h"), 3960);
  EXPECT_EQ(parse_duration("30d"), 30 * 86400);
  EXPECT_EQ(parse_duration("1d12h"), 36 * 3600);
}

TEST(Duration, IsNothingElse) {
  for (const char* text : {"",     "s",   "m",   "5x",  "5 m",  " 5",   "5m ",   "-5",   "-5m",
                           "-0",   "+5",  "5ms", "m5",  "5M",   "1h30", "30m1h", "1m1m", "1e3",
                           "0x10", "inf", "nan", "5mm", "1:30", "5min", "1h1d"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_duration(std::string_view("5\0", 2)), std::nullopt);
  EXPECT_EQ(parse_duration(std::string(400, '9')), std::nullopt) << "more than a double holds";
}

}  // namespace
}  // namespace muster
