#include "bench/saved_rates.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bench/suspects.hpp"

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

Hostnames names_of(const std::vector<Pair>& pairs) {
  Hostnames names;
  for (const Pair& pair : pairs) {
    for (const std::string& host : {pair.one, pair.other}) names[host] = "name of " + host;
  }
  return names;
}

// Returns the states that `muster bench pairs --save` would store.
std::vector<SavedState> states_with(const std::vector<Pair>& pairs) {
  const Hostnames names = names_of(pairs);
  std::vector<SavedState> states;
  for (const auto& [host, rates] : rates_by_host(pairs, kHow, names, kSavedAt)) {
    states.push_back({.host = host, .hostname = names.at(host), .rates = rates});
  }
  return states;
}

// Returns states in which all links of n1, n2 and n3 had 9 Gbit/s.
std::vector<SavedState> saved() {
  const std::vector<Pair> pairs = {pair_of("n1", "n2", 9, 9), pair_of("n1", "n3", 9, 9),
                                   pair_of("n2", "n3", 9, 9)};
  return states_with(pairs);
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
      // The link is slower than saved, but other work on the hosts can explain it.
      {{pair_of("n1", "n2", 5.5, 9)}, "pass: no link is slower than when its rate was saved"},
      {{pair_of("n2", "n1", 9, 1), pair_of("n1", "n2", 1.2, 9, true)},
       "fail: slower than saved, also when measured again: n1 to n2: 1.00 Gbit/s, 9.00 Gbit/s on "
       "2026-11-02. If you intended the change, save the new rates: muster bench pairs "
       "--save-slow"},
      {{pair_of("n1", "n2", 9, 1), pair_of("n1", "n2", 9, 8, true)},
       "pass: slower than saved while all hosts measured at the same time, but not alone: n2 to "
       "n1: "
       "1.00 Gbit/s, 9.00 Gbit/s on 2026-11-02"},
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
  const auto before = states_with(pairs);
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
  const auto rates = rates_by_host(pairs, kHow, {{"n2", "node2"}}, kSavedAt);
  ASSERT_EQ(rates.size(), 3U);
  ASSERT_EQ(rates.at("n1").size(), 1U);  // a rate of 0 counts as none
  EXPECT_EQ(rates.at("n1")[0].to, "n2");
  EXPECT_EQ(rates.at("n1")[0].to_hostname, "node2");
  EXPECT_EQ(rates.at("n1")[0].bytes_per_second, 3 * kGigabit);
  EXPECT_EQ(rates.at("n2")[0].bytes_per_second, 4 * kGigabit);
  EXPECT_EQ(rates.at("n3")[0].saved_s, kSavedAt);
}

TEST(SavedRates, OfAnotherMachineAreNotComparable) {
  auto states = saved();
  const std::map<std::string, std::string> same = {{"n1", "name of n1"}, {"n2", ""}};
  EXPECT_EQ(comparable_states(states, same).size(), 3U);
  states[2].problem = "no JSON";
  const auto left = comparable_states(states, {{"n1", "name of n1"}, {"n2", "another"}});
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].host, "n1");
  EXPECT_TRUE(left[0].rates.empty());  // both were measured to machines that may have been replaced
}

// `muster check --save` has since stored the state of a new machine with the name n2. The other
// hosts' states still have rates to the old one.
TEST(SavedRates, ToAMachineThatWasReplacedAreNotComparable) {
  auto states = saved();
  ASSERT_EQ(states[1].host, "n2");
  states[1] = {.host = "n2", .hostname = "another"};
  const Hostnames names = {{"n1", "name of n1"}, {"n2", "another"}, {"n3", "name of n3"}};
  const auto left = comparable_states(states, names);
  EXPECT_EQ(left.size(), 3U);
  const std::vector<Pair> to_n2 = {pair_of("n1", "n2", 1, 1)};
  EXPECT_EQ(text_of(judge_slowed(to_n2, left, kHow)), "none");
  const std::vector<Pair> to_n3 = {pair_of("n1", "n3", 1, 1)};
  EXPECT_EQ(find_slowed(to_n3, left, kHow).size(), 2U);
}

TEST(SavedRates, ThatDoNotSayToWhichMachineAreNotComparable) {
  auto states = saved();
  for (SavedState& state : states) {
    for (facts::SavedRate& rate : state.rates) rate.to_hostname.clear();
  }
  const auto left = comparable_states(states, {{"n2", "name of n2"}});
  ASSERT_EQ(left[0].rates.size(), 1U);
  EXPECT_EQ(left[0].rates[0].to, "n3");  // n3's present hostname is unknown
}

// Returns the pairs whose rates would be saved, such as "n1-n2 n3-n4".
std::string saved_pairs(const std::vector<Pair>& pairs, const std::vector<SavedState>& saved = {}) {
  Results results{.kind = "pairs", .pairs = pairs};
  results.suspects = confirm(find_suspects(pairs), pairs);
  std::string text;
  for (const Pair& pair : pairs_to_save(results, saved, kHow)) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", pair.one, pair.other);
  }
  return text;
}

TEST(SavedRates, AreNotThoseOfLinksThatAreSlowNow) {
  // n1-n2 is slower than its saved rate, even if the second measurement was good.
  EXPECT_EQ(saved_pairs({pair_of("n1", "n2", 9, 1), pair_of("n1", "n3", 9, 9),
                         pair_of("n1", "n2", 9, 9, true)},
                        saved()),
            "n1-n3");
  EXPECT_EQ(saved_pairs({pair_of("n1", "n2", 1, 1)}), "n1-n2");  // nothing to compare with
  // Without saved rates, links are compared with each other. Here those between the first three and
  // the last three hosts are slow, as between two switches.
  const std::vector<const char*> hosts = {"n1", "n2", "n3", "n4", "n5", "n6"};
  std::vector<Pair> pairs;
  for (std::size_t one = 0; one < hosts.size(); ++one) {
    for (std::size_t other = one + 1; other < hosts.size(); ++other) {
      const double rate = (one < 3) == (other < 3) ? 9 : 1;
      pairs.push_back(pair_of(hosts[one], hosts[other], rate, rate));
    }
  }
  const std::string within = "n1-n2 n1-n3 n2-n3 n4-n5 n4-n6 n5-n6";
  EXPECT_EQ(saved_pairs(pairs), within);
  pairs.push_back(pair_of("n1", "n4", 1, 1, true));  // slow in the second measurement too
  EXPECT_EQ(saved_pairs(pairs), within);
}

TEST(SavedRates, AreNotThoseOfAConfirmedSuspect) {
  const std::vector<Pair> pairs = {pair_of("n1", "n2", 9, 9), pair_of("n1", "n3", 9, 9),
                                   pair_of("n2", "n3", 9, 9)};
  Results results{.kind = "pairs", .pairs = pairs};
  results.suspects = {{.hosts = {"n1"}, .aspect = Aspect::kLatency, .confirmed = true}};
  ASSERT_EQ(pairs_to_save(results, {}, kHow).size(), 1U);
  results.suspects = {{.hosts = {"n3", "n1"}, .aspect = Aspect::kLoss, .confirmed = true}};
  EXPECT_EQ(pairs_to_save(results, {}, kHow).size(), 2U);
  results.suspects[0].confirmed = false;
  EXPECT_EQ(pairs_to_save(results, {}, kHow).size(), 3U);
}

}  // namespace
}  // namespace muster::bench
