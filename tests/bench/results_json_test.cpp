#include <gtest/gtest.h>

#include "bench/results.hpp"

namespace muster::bench {
namespace {

Results all_of_it() {
  return {
      .kind = "collectives",
      .muster = "0.1",
      .when = "2026-11-15T21:43:19Z",
      .command = "muster bench all-reduce -H n[1-2]",
      .engine = "Open MPI 5.0.11",
      .network = "198.18.0.0/16",
      .ranks = 2,
      .hosts = {{.name = "n1", .os = "Debian", .cores = 2, .memory_bytes = 1LL << 40}},
      .measurements = {{.operation = "all-reduce",
                        .backend = "mpi",
                        .ranks = 2,
                        .bytes = 1LL << 33,
                        .iterations = 20,
                        .mean_s = 0.5,
                        .times = {.min = 0.25, .p25 = 0.375, .median = 0.5, .p99 = 0.75},
                        .algbw = 1e9,
                        .busbw = 1e9}},
      .skipped = {{.operation = "all-to-all", .backend = "gloo", .why = "not there"}},
      .traffic = {{.host = "n1",
                   .backend = "mpi",
                   .operation = "all-reduce",
                   .devices = {{.name = "eth0", .sent = 5, .received = 6}}}},
      .pairs = {{.one = "n1", .other = "n2", .forward = 1, .backward = 2, .latency_s = 3e-6}},
      .suspects = {{.hosts = {"n1"}, .what = "slow", .confirmed = true}},
      .trainings = {{.model = "mlp", .backend = "mpi", .hosts = 2, .ranks = 4}},
      .verdicts = {{.outcome = Judgement::Outcome::kFail, .about = "all-reduce", .expected = 2}},
      .cut_short = "interrupted"};
}

TEST(ResultsJson, SaysTheSameThereAndBack) {
  const std::string text = to_json(all_of_it());
  const auto back = parse_results(text);
  ASSERT_TRUE(back) << to_text(back.error());
  EXPECT_EQ(to_json(*back), text);
  EXPECT_EQ(text.rfind(R"({"schema":1,"kind":"collectives")", 0), 0U);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(ResultsJson, ASchemaOfTheFutureIsSaidToBeOne) {
  std::string text = to_json(all_of_it());
  text.replace(text.find("\"schema\":1"), 10, "\"schema\":2");
  const auto back = parse_results(text);
  ASSERT_FALSE(back);
  EXPECT_NE(back.error().what.find("version 2"), std::string::npos);
}

TEST(ResultsJson, EveryFieldMustBeThereWithItsType) {
  const std::string text = to_json(all_of_it());
  for (const auto& [from, to] : {std::pair{R"("busbw":1000000000.0)", R"("busbw":"fast")"},
                                 std::pair{R"("outcome":"fail")", R"("outcome":"maybe")"},
                                 std::pair{R"("hosts":["n1"])", R"("hosts":7)"},
                                 std::pair{R"("busbw":1000000000.0)", R"("busbw":1e300)"},
                                 std::pair{R"("busbw":1000000000.0)", R"("busbw":-3.5)"},
                                 std::pair{R"("median":0.5)", R"("median":1e-310)"},
                                 std::pair{R"("wrong":0)", R"("wrong":9000000000000000000)"},
                                 std::pair{R"("network")", R"("net")"}}) {
    std::string broken = text;
    ASSERT_NE(broken.find(from), std::string::npos) << from;
    broken.replace(broken.find(from), std::string(from).size(), to);
    EXPECT_FALSE(parse_results(broken)) << to;
  }
  EXPECT_FALSE(parse_results("[]"));
  EXPECT_FALSE(parse_results(""));
}

}  // namespace
}  // namespace muster::bench
