#include "bench/table.hpp"

#include <sstream>

#include <gtest/gtest.h>

#include "bench/needed_link.hpp"
#include "bench/numbers.hpp"

namespace muster::bench {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Returns the column right after each word.
std::vector<std::size_t> word_ends(const std::string& line) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i <= line.size(); ++i) {
    if (line[i - 1] != ' ' && (i == line.size() || line[i] == ' ')) ends.push_back(i);
  }
  return ends;
}

Measurement measured(const std::string& backend, std::int64_t bytes, double seconds,
                     int ranks = 4) {
  const double algbw = static_cast<double>(bytes) / seconds;
  return {
      .operation = "all-reduce",
      .backend = backend,
      .ranks = ranks,
      .bytes = bytes,
      .iterations = 10,
      .mean_s = seconds,
      .times = {seconds * .9, seconds * .95, seconds, seconds * 1.05, seconds * 1.1, seconds * 1.2},
      .algbw = algbw,
      .busbw = algbw * 2 * (ranks - 1) / ranks};
}

Results collectives_of_four() {
  Results results{.kind = "collectives",
                  .muster = "0.1",
                  .when = "2026-11-15T21:43:19Z",
                  .command = "muster bench all-reduce -H n[1-4]",
                  .engine = "Open MPI 5.0.11",
                  .ranks = 4,
                  .hosts = {{.name = "n1"}, {.name = "n2"}, {.name = "n3"}, {.name = "n4"}}};
  for (const std::int64_t bytes : {std::int64_t{8}, std::int64_t{1} << 20, std::int64_t{1} << 33}) {
    const double wire = static_cast<double>(bytes) * 1.5 / 1.25e9;
    results.measurements.push_back(measured("bare", bytes, 20e-6 + wire));
    results.measurements.push_back(measured("mpi", bytes, 25e-6 + 1.02 * wire));
  }
  return results;
}

Results pairs_of(int hosts, const std::string& prefix) {
  Results results{.kind = "pairs", .ranks = hosts};
  for (int i = 1; i <= hosts; ++i) results.hosts.push_back({.name = prefix + std::to_string(i)});
  for (int i = 0; i < hosts; ++i) {
    for (int j = i + 1; j < hosts; ++j) {
      const double back = i == 1 ? 1.25e8 : 1.2e9;  // the second host receives slowly
      results.pairs.push_back({.one = results.hosts[i].name,
                               .other = results.hosts[j].name,
                               .forward = 1.25e9,
                               .backward = back,
                               .latency_s = 12e-6});
    }
  }
  return results;
}

TEST(Numbers, HaveThreeDigitsFrom10MbitTo400Gbit) {
  EXPECT_EQ(gbit(10e6 / 8), "0.0100");
  EXPECT_EQ(gbit(941e6 / 8), "0.941");
  EXPECT_EQ(gbit(9.41e9 / 8), "9.41");
  EXPECT_EQ(gbit(94.1e9 / 8), "94.1");
  EXPECT_EQ(gbit(400e9 / 8), "400");
  EXPECT_EQ(gbit(9.996e9 / 8), "10.0");
  EXPECT_EQ(gbit(0), "0");
  EXPECT_LT(gbit(1e300).size(), 10U);
  EXPECT_EQ(speed(94.1e6 / 8), "94.1 Mbit/s");
}

TEST(Table, ColumnsLineUpAndFitAndAreReadByAwk) {
  int rows = 0;
  std::vector<std::size_t> ends;
  for (const std::string& line : lines_of(table_text(collectives_of_four()))) {
    EXPECT_LE(line.size(), kTableWidth) << line;
    if (line.empty() || line[0] == '#') continue;
    ++rows;
    EXPECT_EQ(words_of(line).size(), 10U) << line;
    if (ends.empty()) ends = word_ends(line);
    EXPECT_EQ(word_ends(line), ends) << line;
  }
  EXPECT_EQ(rows, 6);
  const std::string text = table_text(collectives_of_four());
  for (const std::string& line : lines_of(text)) {
    if (has(line, " p99 ") && has(line, " size ")) {
      auto header = word_ends(line);
      header.erase(header.begin());  // without the '#'
      EXPECT_EQ(header, ends) << line;
    }
  }
}

TEST(Table, SaysSizesCountsTimesAndSpeeds) {
  for (const std::string& line : lines_of(table_text(collectives_of_four()))) {
    const auto words = words_of(line);
    if (words.empty() || words[0] != "1048576") continue;
    EXPECT_EQ(words[1], "262144");
    EXPECT_EQ(words[2], "1278");  // 20 us and 1.5 MiB at 10 Gbit/s
    EXPECT_EQ(words[3], "6.56");
    EXPECT_EQ(words[4], "9.84");
    return;
  }
  FAIL() << "no line of 1 MiB";
}

TEST(Table, SaysWhatTheBackendCostsBesideMpiItself) {
  const std::string text = table_text(collectives_of_four());
  EXPECT_TRUE(has(text, "best busbw in Gbit/s: bare 10.0; mpi 9.80")) << text;
  EXPECT_TRUE(has(text, "mpi takes 5.00 us more than MPI itself at 8 B, 2.0 % more at 8 GiB"))
      << text;
}

TEST(Table, WhatWasNotMeasuredIsSaidWithItsReason) {
  Results results = collectives_of_four();
  EXPECT_FALSE(has(table_text(results), "CUT SHORT"));
  results.cut_short = "interrupted after 3 of 9 sizes";
  results.skipped = {{.operation = "all-to-all", .backend = "gloo", .why = "Gloo has none"}};
  results.measurements[0].wrong = 7;
  const std::string text = table_text(results);
  EXPECT_TRUE(has(text, "CUT SHORT, not everything was measured: interrupted after 3 of 9 sizes"));
  EXPECT_TRUE(has(text, "not measured: all-to-all over gloo: Gloo has none"));
  EXPECT_TRUE(has(text, "WRONG RESULTS: 7 elements"));
}

TEST(Table, VerdictsAreLoudAndNumbersInGbit) {
  Results results = collectives_of_four();
  results.verdicts = {{.outcome = Judgement::Outcome::kFail,
                       .about = "all-reduce of 4 hosts",
                       .expected = 1.125e9,
                       .measured = 1.25e8,
                       .text = "Look at n3's cable."},
                      {.outcome = Judgement::Outcome::kPass, .about = "a"},
                      {.outcome = Judgement::Outcome::kUnknown, .about = "b"}};
  const std::string text = table_text(results);
  EXPECT_TRUE(has(text, "FAIL: all-reduce of 4 hosts, expected 9.00 Gbit/s, measured 1.00 Gbit/s"));
  EXPECT_TRUE(has(text, "\n#     Look at n3's cable.\n"));
  EXPECT_TRUE(has(text, "PASS: a\n"));
  EXPECT_TRUE(has(text, "UNKNOWN: b\n"));
}

TEST(Table, AMatrixMarksTheSlowerDirectionOfASlowPair) {
  const std::string text = table_text(pairs_of(4, "n"));
  for (const std::string& line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.empty() || words[0] != "n2") continue;
    EXPECT_EQ(words, (std::vector<std::string>{"n2", "9.60", "-", "1.00*", "1.00*"}));
    return;
  }
  FAIL() << text;
}

TEST(Table, MatricesFitWhateverTheNames) {
  for (const int hosts : {2, 9, 16}) {
    const std::string text = table_text(pairs_of(hosts, "rack7-node-with-a-long-name-"));
    for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), kTableWidth) << line;
    EXPECT_TRUE(has(text, "# 2 is rack7-node-with-a-long-name-2\n")) << text;
  }
}

TEST(Table, ManyHostsAreQuartilesAndTheTenSlowestPairs) {
  const std::string text = table_text(pairs_of(17, "n"));
  EXPECT_TRUE(has(text, "136 pairs of 17 hosts, Gbit/s: min 1.00, p25 9.60, median 9.60")) << text;
  int rows = 0;
  for (const std::string& line : lines_of(text)) rows += !line.empty() && line[0] != '#';
  EXPECT_EQ(rows, 10);
}

TEST(Table, HostileTextStaysInItsLine) {
  Results results = pairs_of(2, "n");
  results.suspects = {{.hosts = {"n1\x1b[2J"}, .what = "slow\x1b]0;x\a"}};
  results.trainings = {{.model = std::string(300, 'm'), .backend = "mpi", .hosts = 1}};
  const std::string text = table_text(results);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_TRUE(has(text, "SUSPECT host n1?[2J (not confirmed): slow"));
}

TEST(Table, TrainingsSayWaitingAndEfficiency) {
  Results results{.kind = "ddp"};
  results.trainings = {{"mlp", "mpi", 1, 1, 10, 32, 0.100, 0.100, 0.06, 1000, 4000},
                       {"mlp", "mpi", 4, 4, 10, 128, 0.125, 0.100, 0.06, 1000, 4000}};
  for (const std::string& line : lines_of(table_text(results))) {
    const auto words = words_of(line);
    if (words.size() < 3 || words[0] != "mlp" || words[2] != "4") continue;
    EXPECT_EQ(words, (std::vector<std::string>{"mlp", "mpi", "4", "4", "8.00", "1024", "125",
                                               "20.0", "80.0"}));
    return;
  }
  FAIL() << table_text(results);
}

TEST(NeededLink, IsGradientsTwiceOverTheBackward) {
  const Training training{.model = "resnet50",
                          .hosts = 1,
                          .step_s = 2,
                          .compute_s = 2,
                          .backward_s = 1.2,
                          .gradient_bytes = 102'000'000};
  const NeededLink needed = needed_link(training, 4);
  EXPECT_DOUBLE_EQ(needed.replicated_many, 8 * 102e6 * 2 / 1.2);
  EXPECT_DOUBLE_EQ(needed.replicated, 8 * 102e6 * 2 * 3 / 4 / 1.2);
  EXPECT_DOUBLE_EQ(needed.sharded_many, 8 * 102e6 * 3 / 2);
  EXPECT_DOUBLE_EQ(needed.sharded, 8 * 102e6 * 3 * 3 / 4 / 2);
  EXPECT_TRUE(has(needed.sentence, "102 MB of gradients and a backward pass of 1.20 s"))
      << needed.sentence;
  EXPECT_TRUE(has(needed.sentence, "1.02 Gbit/s on 4 hosts, 1.36 Gbit/s on many hosts"))
      << needed.sentence;
}

TEST(NeededLink, WithoutABackwardNothingIsMadeUp) {
  const NeededLink needed = needed_link({.model = "mlp", .gradient_bytes = 5}, 2);
  EXPECT_EQ(needed.replicated_many, 0);
  EXPECT_TRUE(has(needed.sentence, "not measured"));
}

TEST(RankCountTable, TakesTheLargestSizeOfTheBestBackend) {
  Results results{.kind = "collectives"};
  for (const auto& [backend, bytes, seconds, ranks, rdma] :
       {std::tuple{"mpi", std::int64_t{1000}, 1e-9, 8, true},  // fast, but not the largest
        std::tuple{"mpi", std::int64_t{1250000000}, 1.0, 8, true},
        std::tuple{"nccl", std::int64_t{1250000000}, 0.5, 8, true},
        std::tuple{"bare", std::int64_t{1250000000}, 0.1, 8, true},
        std::tuple{"gloo", std::int64_t{1250000000}, 2.0, 16, false}}) {
    results.measurements.push_back(measured(backend, bytes, seconds, ranks));
    results.measurements.back().rdma = rdma;
  }
  const auto lines = lines_of(rank_count_table(results));
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[4], "|     8 |       35.0 |       20.0 |             - |             - |");
  EXPECT_EQ(lines[5], "|    16 |          - |          - |          9.38 |          5.00 |");
}

}  // namespace
}  // namespace muster::bench
