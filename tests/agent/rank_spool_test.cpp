#include "agent/rank_spool.hpp"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

constexpr auto kOut = sys::Stream::kOut;
constexpr auto kErr = sys::Stream::kErr;

std::string text(const std::optional<Piece>& piece) {
  if (!piece) return "nothing";
  return std::to_string(piece->rank) + (piece->stream == kOut ? " out " : " err ") +
         std::to_string(piece->at) + " " + piece->bytes;
}

TEST(RankSpool, SendsWhatWasAddedOnceAndInTurn) {
  RankSpool spool;
  spool.add(0, kOut, 0, "ab");
  spool.add(0, kOut, 2, "c");
  spool.add(1, kErr, 0, "x");
  EXPECT_EQ(text(spool.next()), "0 out 0 abc");
  EXPECT_EQ(text(spool.next()), "1 err 0 x");
  EXPECT_EQ(text(spool.next()), "nothing");
  spool.add(0, kOut, 3, "d");
  EXPECT_EQ(text(spool.next()), "0 out 3 d");
}

TEST(RankSpool, ANewConnectionGetsWhatTheOldOneDidNotConfirm) {
  RankSpool spool;
  spool.add(0, kOut, 0, "abcdef");
  spool.add(0, kErr, 0, "xyz");
  while (spool.next()) {
  }
  spool.forget({{.rank = 0, .out = 4, .err = 0}});
  spool.rewind();
  EXPECT_EQ(text(spool.next()), "0 out 4 ef");
  EXPECT_EQ(text(spool.next()), "0 err 0 xyz");
  EXPECT_EQ(text(spool.next()), "nothing");
}

TEST(RankSpool, ForgettingWhatIsNotThereIsHarmless) {
  RankSpool spool;
  spool.add(0, kOut, 0, "abc");
  spool.forget({{.rank = 0, .out = 99, .err = 99}, {.rank = 7, .out = 1, .err = 1}});
  EXPECT_EQ(text(spool.next()), "nothing");
  spool.add(0, kOut, 3, "d");
  spool.forget({{.rank = 0, .out = 1, .err = 0}});  // an outdated confirmation
  EXPECT_EQ(text(spool.next()), "0 out 3 d");
}

TEST(RankSpool, ARankThatNobodyReadsIsHeldUpAndTheOthersAreNot) {
  RankSpool spool;
  spool.add(0, kOut, 0, std::string(RankSpool::kRoom, 'x'));
  EXPECT_FALSE(spool.has_room(0));
  EXPECT_TRUE(spool.has_room(1));
  while (spool.next()) {
  }
  EXPECT_FALSE(spool.has_room(0)) << "sent is not taken";
  spool.forget({{.rank = 0, .out = 1, .err = 0}});
  EXPECT_TRUE(spool.has_room(0));
}

TEST(RankSpool, AGapIsKeptAsOne) {
  RankSpool spool;
  spool.add(0, kOut, 100, "after another warden");
  EXPECT_EQ(text(spool.next()), "0 out 100 after another warden");
}

}  // namespace
}  // namespace muster::agent
