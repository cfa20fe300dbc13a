#include "run/doubted_output.hpp"

#include <gtest/gtest.h>

namespace muster::run {
namespace {

agent::Piece piece_of(std::size_t bytes) {
  return {.rank = 0, .at = 0, .bytes = std::string(bytes, 'x')};
}

TEST(DoubtedOutput, IsGivenBackOnce) {
  DoubtedOutput doubted;
  doubted.hold(2, piece_of(1), 1);
  doubted.hold(2, piece_of(2), 1);
  doubted.hold(1, piece_of(3), 1);
  const auto all = doubted.take();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].first, 2U);
  EXPECT_EQ(all[2].second.bytes.size(), 2U);
  EXPECT_TRUE(doubted.take().empty());
}

TEST(DoubtedOutput, HasALimitAfterWhichNothingIsHeld) {
  DoubtedOutput doubted;
  constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  for (int i = 0; i < 100; ++i) doubted.hold(0, piece_of(kMebibyte - 1), 2);
  doubted.hold(0, piece_of(1), 2);
  EXPECT_EQ(doubted.take().size(), 8U);
}

TEST(DoubtedOutput, OfAHostThatSendsItAgainIsForgotten) {
  DoubtedOutput doubted;
  doubted.hold(0, piece_of(1), 1);
  doubted.hold(1, piece_of(1), 1);
  doubted.forget(0);
  const auto all = doubted.take();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].first, 1U);
}

}  // namespace
}  // namespace muster::run
