#include "bench/saved_rates.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/numbers.hpp"
#include "bench/suspects.hpp"

namespace muster::bench {
namespace {

using facts::SavedRate;
using facts::SavedState;

constexpr std::size_t kMostAgain = 6;
constexpr std::size_t kMostNamed = 8;

struct Direction {
  const std::string& from;
  const std::string& to;
  double rate = 0;
};

std::vector<Direction> directions_of(std::span<const Pair> pairs, bool again) {
  std::vector<Direction> directions;
  for (const Pair& pair : pairs) {
    if (pair.again != again) continue;
    directions.push_back({pair.one, pair.other, pair.forward});
    directions.push_back({pair.other, pair.one, pair.backward});
  }
  return directions;
}

// The sender and the receiver of a link. Rates are indexed by them, because searching a list for
// each link would take too long on many hosts.
using Ends = std::pair<std::string_view, std::string_view>;
using RatesByLink = std::map<Ends, const SavedRate*>;

RatesByLink rates_by_link(std::span<const SavedState> saved, std::string_view how) {
  RatesByLink rates;
  for (const SavedState& state : saved) {
    for (const SavedRate& rate : state.rates) {
      if (rate.how == how) rates.emplace(Ends(state.host, rate.to), &rate);
    }
  }
  return rates;
}

const SavedRate* saved_rate(const RatesByLink& rates, const Direction& link) {
  const auto found = rates.find(Ends(link.from, link.to));
  return found == rates.end() ? nullptr : found->second;
}

bool is_slowed(double now, double then) {
  return now < kSlowShare * then;
}

std::string slowed_text(const SlowedLink& link) {
  return fmt::format("{} to {}: {}, {} on {}", link.from, link.to, speed(link.now),
                     speed(link.then), facts::date_text(link.saved_s));
}

std::string slowed_texts(std::span<const SlowedLink> links) {
  std::vector<std::string> texts;
  for (const SlowedLink& link : links.first(std::min(links.size(), kMostNamed))) {
    texts.push_back(slowed_text(link));
  }
  const std::size_t more = links.size() - texts.size();
  return fmt::format("{}{}", fmt::join(texts, "; "),
                     more > 0 ? fmt::format("; and {} more", more) : "");
}

std::size_t count_compared(std::span<const Pair> pairs, const RatesByLink& rates) {
  const auto links = directions_of(pairs, false);
  return static_cast<std::size_t>(
      std::count_if(links.begin(), links.end(),
                    [&](const Direction& link) { return saved_rate(rates, link) != nullptr; }));
}

std::string hostname_of(const std::string& host, const Hostnames& hostnames) {
  const auto found = hostnames.find(host);
  return found == hostnames.end() ? "" : found->second;
}

// Whether the rate was measured to the machine that has this hostname now. False for rates that an
// older muster saved, because they do not contain the hostname.
bool is_to_machine(const SavedRate& rate, const std::string& hostname) {
  return hostname.empty() || rate.to_hostname == hostname;
}

// What the second look found about a link that was slow in the first one.
enum class Again { kNone, kSlow, kNotSlow };

Again seen_again(const SlowedLink& link, std::span<const Direction> again) {
  const auto found = std::find_if(again.begin(), again.end(), [&](const Direction& one) {
    return one.from == link.from && one.to == link.to;
  });
  if (found == again.end()) return Again::kNone;
  return is_slowed(found->rate, link.then) ? Again::kSlow : Again::kNotSlow;
}

}  // namespace

std::vector<SlowedLink> find_slowed(std::span<const Pair> pairs, std::span<const SavedState> saved,
                                    std::string_view how) {
  const RatesByLink rates = rates_by_link(saved, how);
  std::vector<SlowedLink> slowed;
  for (const Direction& link : directions_of(pairs, false)) {
    const SavedRate* const then = saved_rate(rates, link);
    if (then == nullptr || !is_slowed(link.rate, then->bytes_per_second)) continue;
    slowed.push_back({.from = link.from,
                      .to = link.to,
                      .now = link.rate,
                      .then = then->bytes_per_second,
                      .saved_s = then->saved_s});
  }
  std::stable_sort(slowed.begin(), slowed.end(), [](const SlowedLink& one, const SlowedLink& two) {
    return one.now / one.then < two.now / two.then;
  });
  return slowed;
}

std::vector<std::pair<std::string, std::string>> to_measure_again(
    std::span<const SlowedLink> slowed) {
  std::vector<std::pair<std::string, std::string>> links;
  std::set<std::pair<std::string, std::string>> known;
  for (const SlowedLink& link : slowed) {
    if (links.size() == kMostAgain) break;
    if (known.insert(std::minmax(link.from, link.to)).second)
      links.emplace_back(link.from, link.to);
  }
  return links;
}

std::optional<Judgement> judge_slowed(std::span<const Pair> pairs,
                                      std::span<const SavedState> saved, std::string_view how) {
  const std::size_t compared = count_compared(pairs, rates_by_link(saved, how));
  if (compared == 0) return std::nullopt;
  Judgement verdict{.outcome = Judgement::Outcome::kPass,
                    .about = fmt::format("compared with {} saved rates", compared),
                    .text = "no link is slower than when its rate was saved"};
  const auto again = directions_of(pairs, true);
  std::vector<SlowedLink> slow_again, unsure;
  const auto slowed = find_slowed(pairs, saved, how);
  for (const SlowedLink& link : slowed) {
    const Again second = seen_again(link, again);
    if (second == Again::kSlow) slow_again.push_back(link);
    if (second == Again::kNone) unsure.push_back(link);
  }
  if (!slow_again.empty()) {
    verdict.outcome = Judgement::Outcome::kFail;
    verdict.text = fmt::format(
        "slower than saved, also when measured again: {}{}. If you intended the change, save the "
        "new rates: muster bench pairs --save-slow",
        slowed_texts(slow_again),
        unsure.empty() ? "" : fmt::format(" ({} more were measured only once)", unsure.size()));
  } else if (!unsure.empty()) {
    verdict.outcome = Judgement::Outcome::kUnknown;
    verdict.text =
        fmt::format("slower than saved, but not measured again: {}", slowed_texts(unsure));
  } else if (!slowed.empty()) {
    verdict.text = fmt::format(
        "slower than saved while all hosts measured at the same time, but not alone: {}",
        slowed_texts(slowed));
  }
  return verdict;
}

std::vector<SavedState> comparable_states(std::vector<SavedState> saved,
                                          const Hostnames& hostnames) {
  std::set<std::string> other;
  for (const SavedState& state : saved) {
    const bool same = is_of_machine(state, hostname_of(state.host, hostnames));
    if (!state.problem.empty() || !same) other.insert(state.host);
  }
  std::erase_if(saved, [&](const SavedState& state) { return other.contains(state.host); });
  for (SavedState& state : saved) {
    std::erase_if(state.rates, [&](const SavedRate& rate) {
      return other.contains(rate.to) || !is_to_machine(rate, hostname_of(rate.to, hostnames));
    });
  }
  return saved;
}

std::vector<Pair> pairs_to_save(const Results& results, std::span<const SavedState> saved,
                                std::string_view how) {
  std::vector<Pair> pairs = healthy_pairs(results.pairs, results.suspects);
  std::set<std::pair<std::string, std::string>> slowed;
  for (const SlowedLink& link : find_slowed(results.pairs, saved, how)) {
    slowed.insert(std::minmax(link.from, link.to));
  }
  std::erase_if(
      pairs, [&](const Pair& pair) { return slowed.contains(std::minmax(pair.one, pair.other)); });
  return pairs;
}

RatesByHost rates_by_host(std::span<const Pair> pairs, const std::string& how,
                          const Hostnames& hostnames, double now_s) {
  RatesByHost rates;
  for (const Direction& link : directions_of(pairs, false)) {
    if (link.rate <= 0) continue;
    rates[link.from].push_back({.to = link.to,
                                .to_hostname = hostname_of(link.to, hostnames),
                                .how = how,
                                .bytes_per_second = link.rate,
                                .saved_s = now_s});
  }
  return rates;
}

}  // namespace muster::bench
