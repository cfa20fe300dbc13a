#include "remote/labels.hpp"

#include <gtest/gtest.h>

namespace muster::remote {
namespace {

TEST(Labels, EveryLineCarriesItsHostHoweverThePiecesFall) {
  Labels labels("n1");
  EXPECT_EQ(labels.take("step 1"), "");
  EXPECT_EQ(labels.take("0\nstep 11\nst"), "n1: step 10\nn1: step 11\n");
  EXPECT_EQ(labels.take("ep 12\n"), "n1: step 12\n");
  EXPECT_EQ(labels.rest(), "");
}

TEST(Labels, ALastLineWithoutAnEndIsNotLost) {
  Labels labels("n1");
  EXPECT_EQ(labels.take("done"), "");
  EXPECT_EQ(labels.rest(), "n1: done\n");
  EXPECT_EQ(labels.rest(), "");
}

TEST(Labels, AMarkAtTheEndIsDropped) {
  Labels labels("n1");
  EXPECT_EQ(labels.take("done-mark"), "");
  labels.drop_end("-mark");
  labels.drop_end("-mark");
  EXPECT_EQ(labels.rest(), "n1: done\n");
}

TEST(Labels, AnEndlessLineIsNotHeldForEver) {
  Labels labels("n1");
  std::size_t shown = 0;
  for (int i = 0; i < 100; ++i) shown += labels.take(std::string(10000, '#')).size();
  EXPECT_GT(shown, 900000U);
}

}  // namespace
}  // namespace muster::remote
