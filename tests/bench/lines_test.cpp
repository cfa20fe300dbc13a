#include "bench/lines.hpp"

#include <gtest/gtest.h>

namespace muster::bench {
namespace {

TEST(Lines, RanksBecomeHosts) {
  Results results;
  Lines lines(results, {"n1", "n1", "n2"});
  EXPECT_TRUE(lines.take(R"({"muster_bench":1,"kind":"pair","one":0,"other":2,"forward":1.5,)"
                         R"("backward":2.0,"latency_s":0.001,"resent":0.0,"again":true})"
                         "\n"));
  EXPECT_TRUE(lines.take(R"({"muster_bench":1,"kind":"traffic","rank":2,"backend":"mpi",)"
                         R"("operation":"all-reduce","devices":[]})"));
  EXPECT_TRUE(lines.take(R"({"muster_bench":1,"kind":"progress","what":"x","done":1,"of":3,)"
                         R"("left_s":2.5})"));
  EXPECT_FALSE(lines.ended());
  EXPECT_TRUE(lines.take(R"({"muster_bench":1,"kind":"end"})"));
  EXPECT_TRUE(lines.ended());
  EXPECT_EQ(lines.wrong(), "");
  ASSERT_EQ(results.pairs.size(), 1U);
  EXPECT_EQ(results.pairs[0].other, "n2");
  EXPECT_EQ(results.traffic[0].host, "n2");
  EXPECT_EQ(lines.progress().of, 3);
}

TEST(Lines, WhatIsNoMeasurementIsLeftToOthers) {
  Results results;
  Lines lines(results, {"n1"});
  EXPECT_FALSE(lines.take("mpirun was unable to launch\n"));
  EXPECT_FALSE(lines.take(""));
  EXPECT_EQ(lines.wrong(), "");
}

TEST(Lines, WhatIsWrongIsSaid) {
  for (const char* wrong :
       {R"({"muster_bench":1,"kind":"pair","one":0,"other":7,"forward":1,"backward":1,)"
        R"("latency_s":1,"resent":0,"again":false})",
        R"({"muster_bench":2,"kind":"end"})", R"({"muster_bench":1)",
        R"({"muster_bench":1,"kind":"measurement"})"}) {
    Results results;
    Lines lines(results, {"n1", "n2"});
    EXPECT_TRUE(lines.take(wrong));
    EXPECT_NE(lines.wrong(), "") << wrong;
    EXPECT_FALSE(lines.ended());
  }
}

TEST(Lines, HaveALimitInAll) {
  const std::string line = R"({"muster_bench":1,"kind":"skipped","operation":"a","backend":"b",)"
                           R"("why":"c"})";
  Results results;
  Lines lines(results, {"n1"}, 3 * line.size());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(lines.take(line));
  EXPECT_EQ(results.skipped.size(), 3U);
  EXPECT_EQ(lines.wrong(), "muster-bench printed more results than muster keeps");
}

TEST(Lines, NoTextCanControlATerminal) {
  Results results;
  Lines lines(results, {"n1"});
  EXPECT_TRUE(lines.take(R"({"muster_bench":1,"kind":"skipped","operation":"\u001b]0;t\u0007",)"
                         R"("backend":"\u009b","why":"\r"})"));
  ASSERT_EQ(results.skipped.size(), 1U);
  EXPECT_EQ(results.skipped[0].operation, "?]0;t?");
  EXPECT_EQ(results.skipped[0].backend + results.skipped[0].why, "??");
}

}  // namespace
}  // namespace muster::bench
