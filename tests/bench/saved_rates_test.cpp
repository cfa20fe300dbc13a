#include "bench/saved_rates.hpp"

#include <gtest/gtest.h>

namespace muster::bench {
namespace {

using facts::SavedState;
using Outcome = Judgement::Outcome;

constexpr const char* kHow = "bare with Open MPI in 198.18.0.0/16";
constexpr double kSavedAt = 1793577600;  // 2026-11-02
constexpr double kGigabit = 1e9 / 8;

Pair pair_of(const char* one, const char* other, double forward, double backward,
             bool again = false) {
  return {.one = one,
          .other = other,
          .forward = forward * kGigabit,
          .backward = backward * kGigabit,
          .again = again};
}

// All links of n1, n2 and n3 at 9 Gbit/s.
std::vector<SavedState> saved() {
  const std::vector<Pair> pairs = {pair_of("n1", "n2", 9, 9), pair_of("n1", "n3", 9, 9),
                                   pair_of("n2", "n3", 9, 9)};
  return with_rates({}, pairs, kHow, kSavedAt);
}

std::string text_of(const std::optional<Judgement>& verdict) {
  if (!verdict) return "none";
  const char* const word = verdict->outcome == Outcome::kPass   ? "pass"
                           : verdict->outcome == Outcome::kFail ? "fail"
                                                                : "unknown";
  return fmt::format("{}: {}", word, verdict->text);
}

struct Case {
  std::vector<Pair> pairs;
  const char* verdict;
};

TEST(SavedRates, JudgeLinksByWhatTheyReachedBefore) {
  const Case cases[] = {
      {{pair_of("n1", "n2", 8, 8), pair_of("n3", "n1", 7, 12)},
       "pass: no link is slower than when its rate was saved"},
      // Within what the hosts' other work may cost.
      {{pair_of("n1", "n2", 5.5, 9)}, "pass: no link is slower than when its rate was saved"},
      {{pair_of("n2", "n1", 9, 1), pair_of("n1", "n2", 1.2, 9, true)},
       "fail: slower than saved, also when measured again: n1 to n2: 1.00 Gbit/s, 9.00 Gbit/s on "
       "2026-11-02. If the change is meant, save the new rates: muster bench pairs --save"},
      {{pair_of("n1", "n2", 9, 1), pair_of("n1", "n2", 9, 8, true)},
       "pass: some links were slower than saved at first, but not when measured again"},
      {{pair_of("n1", "n2", 9, 1)},
       "unknown: slower than saved, but not measured again: n2 to n1: 1.00 Gbit/s, 9.00 Gbit/s on "
       "2026-11-02"},
      {{pair_of("n1", "n4", 1, 1)}, "none"},
      {{}, "none"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(text_of(judge_slowed(one.pairs, saved(), kHow)), one.verdict);
  }
}

TEST(SavedRates, OfAnotherWayToMeasureAreNotComparable) {
  const std::vector<Pair> pairs = {pair_of("n1", "n2", 1, 1)};
  EXPECT_EQ(text_of(judge_slowed(pairs, saved(), "gloo with torchrun in 198.18.0.0/16")), "none");
  EXPECT_EQ(find_slowed(pairs, saved(), kHow).size(), 2U);
}

TEST(SavedRates, AreMeasuredAgainWhereTheyDroppedMost) {
  std::vector<Pair> pairs;
  for (int i = 1; i <= 20; ++i) {
    pairs.push_back(pair_of("n0", ("n" + std::to_string(i)).c_str(), 9, 9));
  }
  const auto before = with_rates({}, pairs, kHow, kSavedAt);
  for (Pair& pair : pairs) pair.forward = pair.backward = kGigabit;
  pairs[12].backward = kGigabit / 100;
  const auto slowed = find_slowed(pairs, before, kHow);
  EXPECT_EQ(slowed.size(), 40U);
  const auto links = to_measure_again(slowed);
  ASSERT_EQ(links.size(), 6U);
  EXPECT_EQ(links[0], std::pair(std::string("n13"), std::string("n0")));
  EXPECT_TRUE(text_of(judge_slowed(pairs, before, kHow)).ends_with("and 32 more"));
}

TEST(SavedRates, AreThoseOfTheFirstLook) {
  const std::vector<Pair> pairs = {pair_of("n1", "n2", 3, 4), pair_of("n1", "n2", 30, 40, true),
                                   pair_of("n1", "n3", 0, 5)};
  auto states = with_rates(saved(), pairs, kHow, kSavedAt + 1);
  ASSERT_EQ(states.size(), 3U);
  EXPECT_EQ(facts::find_rate(states[0], "n2", kHow)->bytes_per_second, 3 * kGigabit);
  EXPECT_EQ(facts::find_rate(states[1], "n1", kHow)->bytes_per_second, 4 * kGigabit);
  EXPECT_EQ(facts::find_rate(states[0], "n3", kHow)->saved_s, kSavedAt);  // 0 is no rate
  EXPECT_EQ(facts::find_rate(states[2], "n1", kHow)->saved_s, kSavedAt + 1);
}

}  // namespace
}  // namespace muster::bench
