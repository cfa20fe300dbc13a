#include "run/stall.hpp"

#include <gtest/gtest.h>

namespace muster::run {
namespace {

Seen seen(int rank, const std::string& state, double cpu_s = 0) {
  return {.rank = rank,
          .host = "n" + std::to_string(rank + 1),
          .look = {.rank = rank, .state = state, .waits_in = "do_wait"},
          .cpu_s = cpu_s,
          .span_s = 1};
}

std::string outstanding(const std::vector<Seen>& ranks) {
  return what_stands_out(ranks);
}

TEST(Stall, AStoppedRankIsNamed) {
  EXPECT_EQ(outstanding({seen(0, "S"), seen(1, "T"), seen(2, "R", 1)}),
            "rank 1 on n2 is stopped (SIGSTOP, or a debugger)");
}

TEST(Stall, ARankThatRunsAloneIsNamed) {
  EXPECT_EQ(outstanding({seen(0, "S"), seen(1, "S"), seen(2, "R", 0.9)}),
            "rank 2 on n3 runs alone, the others wait");
  EXPECT_EQ(outstanding({seen(0, "R", 1), seen(1, "S"), seen(2, "R", 0.9)}),
            "rank 1 on n2 waits, the others run");
  EXPECT_EQ(outstanding({seen(0, "R", 1), seen(1, "S"), seen(2, "R", 0.9), seen(3, "S")}),
            "ranks 0 on n1, 2 on n3 run, the others wait");
}

TEST(Stall, ARankThatSleepsWhileTheOthersPollIsNamed) {
  EXPECT_EQ(outstanding({seen(0, "S", 0.14), seen(1, "S", 0), seen(2, "S", 0.12)}),
            "rank 1 on n2 sleeps; the others wait");
  EXPECT_EQ(outstanding({seen(0, "S", 0.03), seen(1, "S", 0), seen(2, "S", 0.12)}),
            "all ranks wait");
}

TEST(Stall, OneMomentTellsLessThanTheTimeUsed) {
  EXPECT_EQ(outstanding({seen(0, "R", 0), seen(1, "S", 0)}), "all ranks wait");
  EXPECT_EQ(outstanding({seen(0, "S", 1), seen(1, "S", 1)}), "all ranks run");
}

TEST(Stall, ADeviceThatHangsIsNamed) {
  EXPECT_EQ(outstanding({seen(0, "S"), seen(1, "D")}),
            "rank 1 on n2 waits for a device or a file system");
}

TEST(Stall, NothingSeenNothingSaid) {
  EXPECT_EQ(outstanding({}), "");
}

TEST(Stall, TheEvidenceIsALineARank) {
  EXPECT_EQ(stalled_text(std::vector<Seen>{seen(0, "S", 0.25)}),
            "rank 0 on n1: S (waiting) in do_wait, 0.25 s of CPU in 1.0 s\n");
}

}  // namespace
}  // namespace muster::run
