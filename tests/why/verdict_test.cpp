#include "why/verdict.hpp"

#include <gtest/gtest.h>

namespace muster::why {
namespace {

TEST(Judge, SaysThatItKnowsNothingOfNothing) {
  EXPECT_FALSE(judge({}).hang);
}

}  // namespace
}  // namespace muster::why
