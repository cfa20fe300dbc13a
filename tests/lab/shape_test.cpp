#include "lab/shape.hpp"

#include <gtest/gtest.h>

namespace muster::lab {
namespace {

TEST(Shape, ReadsQuantitiesAsPeopleWriteThem) {
  EXPECT_EQ(parse_rate("1gbit").value(), 1'000'000'000);
  EXPECT_EQ(parse_rate("2.5mbit").value(), 2'500'000);
  EXPECT_EQ(parse_delay("2ms").value(), 2000);
  EXPECT_EQ(parse_delay("500us").value(), 500);
  EXPECT_DOUBLE_EQ(parse_loss("1%").value(), 0.01);
}

TEST(Shape, RefusesWhatItDoesNotUnderstand) {
  for (const char* wrong : {"", "gbit", "1", "1 gbit", "-1gbit", "1gbitx", "inf", "nangbit"}) {
    EXPECT_FALSE(parse_rate(wrong).has_value()) << wrong;
  }
  EXPECT_FALSE(parse_delay("2").has_value());
  EXPECT_FALSE(parse_loss("101%").has_value());
  EXPECT_FALSE(parse_loss("0.5").has_value());
  EXPECT_EQ(parse_loss("x").error().hint, "for example 1%");
}

}  // namespace
}  // namespace muster::lab
