#include "bench/compare.hpp"

#include <sstream>

#include <gtest/gtest.h>

#include "bench/table.hpp"

namespace muster::bench {
namespace {

bool says(const std::string& text, const std::string& part) {
  // Joins wrapped lines, because the text may continue on the next line.
  std::string flat;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    if (word != "#") flat += (flat.empty() ? "" : " ") + word;
  }
  return flat.find(part) != std::string::npos;
}

Measurement point(std::int64_t bytes, double median, double spread, bool rdma = false) {
  return {.operation = "all-reduce",
          .backend = "mpi",
          .ranks = 8,
          .bytes = bytes,
          .mean_s = median,
          .times = {.p25 = median - spread / 2, .median = median, .p75 = median + spread / 2},
          .rdma = rdma};
}

Change only_change(const Measurement& a, const Measurement& b) {
  const auto changes = compare({.measurements = {a}}, {.measurements = {b}});
  EXPECT_EQ(changes.size(), 1U);
  return changes.empty() ? Change{} : changes[0];
}

TEST(Compare, TheNoiseOfEitherSideHidesADifference) {
  EXPECT_TRUE(only_change(point(8, 1.0, 0.1), point(8, 1.2, 0.1)).differs);
  EXPECT_FALSE(only_change(point(8, 1.0, 0.3), point(8, 1.2, 0.1)).differs);
  EXPECT_FALSE(only_change(point(8, 1.0, 0.1), point(8, 1.2, 0.3)).differs);
  EXPECT_DOUBLE_EQ(only_change(point(8, 1.0, 0.125), point(8, 1.2, 0.25)).noise, 0.25);
}

TEST(Compare, LessThanTwoPerCentIsNoDifferenceHoweverQuiet) {
  EXPECT_FALSE(only_change(point(8, 1.0, 0), point(8, 1.019, 0)).differs);
  EXPECT_FALSE(only_change(point(8, 1.019, 0), point(8, 1.0, 0)).differs);
  EXPECT_TRUE(only_change(point(8, 1.0, 0), point(8, 1.021, 0)).differs);
  EXPECT_TRUE(only_change(point(8, 1.021, 0), point(8, 1.0, 0)).differs);
}

TEST(Compare, TheRatioSaysHowManyTimesAsFastBIs) {
  EXPECT_DOUBLE_EQ(only_change(point(8, 1.0, 0), point(8, 0.5, 0)).ratio, 2);
  EXPECT_DOUBLE_EQ(only_change(point(8, 1.0, 0), point(8, 4.0, 0)).ratio, 0.25);
}

TEST(Compare, OnlyEqualThingsArePaired) {
  Measurement other = point(8, 1, 0);
  other.ranks = 4;
  EXPECT_TRUE(compare({.measurements = {point(8, 1, 0)}}, {.measurements = {other}}).empty());
  EXPECT_TRUE(
      compare({.measurements = {point(8, 1, 0)}}, {.measurements = {point(16, 1, 0)}}).empty());
}

TEST(Compare, WithRdmaMeetsWithRdmaWhereBothHaveBoth) {
  const Results a{.measurements = {point(8, 1, 0, true), point(8, 4, 0, false)}};
  const Results b{.measurements = {point(8, 4, 0, false), point(8, 1, 0, true)}};
  for (const Change& change : compare(a, b)) EXPECT_FALSE(change.differs);
  // A run with RDMA and one without are still compared, because that difference may be the
  // question.
  EXPECT_TRUE(only_change(point(8, 1, 0, true), point(8, 4, 0, false)).differs);
}

TEST(Compare, PairsDifferByATenthAndTrainingsByATwentieth) {
  const auto pair = [](const char* one, const char* other, double speed) {
    return Results{.pairs = {{.one = one, .other = other, .forward = speed, .backward = 9e9}}};
  };
  EXPECT_FALSE(compare(pair("a", "b", 1e9), pair("b", "a", 1.09e9)).at(0).differs);
  EXPECT_TRUE(compare(pair("a", "b", 1e9), pair("b", "a", 1.12e9)).at(0).differs);
  EXPECT_NEAR(compare(pair("a", "b", 1e9), pair("a", "b", 2e9)).at(0).ratio, 2, 1e-9);
  const auto training = [](double step, std::int64_t samples) {
    return Results{.trainings = {{.model = "mlp", .hosts = 2, .samples = samples, .step_s = step}}};
  };
  EXPECT_FALSE(compare(training(1, 32), training(1.04, 32)).at(0).differs);
  EXPECT_TRUE(compare(training(1, 32), training(1.06, 32)).at(0).differs);
  EXPECT_FALSE(
      // The same number of samples per second.
      compare(training(1, 32), training(2, 64)).at(0).differs);
}

Results run_of(double factor, std::int64_t from) {
  Results results{.muster = "0.1", .engine = "Open MPI 5.0.11", .ranks = 8};
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 24; bytes *= 4) {
    const double seconds = 1e-5 + static_cast<double>(bytes) / 1e9;
    const double times = bytes >= from ? factor : 1;
    results.measurements.push_back(point(bytes, seconds / times, seconds * 0.01));
  }
  return results;
}

TEST(CompareText, SaysWhereAndByHowMuch) {
  const std::string text = compare_text(run_of(1, 0), run_of(2, 1 << 20), "old", "new");
  EXPECT_TRUE(says(text, "The conditions are the same.")) << text;
  EXPECT_TRUE(says(text,
                   "B is faster: all-reduce over mpi by 8 ranks from 1 MiB up by 2.0 times; "
                   "5 of 8 sizes do not differ by more than the noise."))
      << text;
  const std::string back = compare_text(run_of(1.2, 0), run_of(1, 0), "old", "new");
  EXPECT_TRUE(says(back, "B is slower: all-reduce over mpi by 8 ranks at all sizes by 20 %."))
      << back;
}

TEST(CompareText, EqualRunsDoNotDiffer) {
  const std::string text = compare_text(run_of(1, 0), run_of(1.015, 0), "old", "new");
  EXPECT_TRUE(says(text, "Nothing differs by more than the noise (8 compared).")) << text;
}

TEST(CompareText, ConditionsAndGapsAreSaidAndComeFirst) {
  Results a = run_of(1, 0), b = run_of(3, 0);
  a.hosts = {{.name = "n1", .speed_mbit = 10000}};
  b.hosts = {{.name = "n1", .speed_mbit = 25000}};
  b.engine = "Intel MPI 2021.18";
  b.cut_short = "interrupted";
  a.measurements.pop_back();
  const std::string text = compare_text(a, b, "old\x1b.json", "new.json");
  EXPECT_TRUE(says(text, "A: old?.json"));
  EXPECT_TRUE(says(text, "B was cut short: interrupted"));
  EXPECT_TRUE(says(text, "engine: A Open MPI 5.0.11; B Intel MPI 2021.18"));
  EXPECT_TRUE(says(text, "link speeds: A 10.0 Gbit/s; B 25.0 Gbit/s"));
  EXPECT_TRUE(says(text, "only in B: all-reduce over mpi by 8 ranks: 16 MiB"));
  EXPECT_LT(text.find("link speeds"), text.find("B is faster"));
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) EXPECT_LE(line.size(), kTableWidth) << line;
}

TEST(CompareText, NothingInCommonIsSaid) {
  EXPECT_TRUE(says(compare_text(run_of(1, 0), {}, "a", "b"),
                   "The two results have no measurement in common"));
}

}  // namespace
}  // namespace muster::bench
