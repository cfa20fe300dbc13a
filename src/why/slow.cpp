// judge_slow: for whom the others wait most in a job that advances.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "why/rules.hpp"
#include "why/words.hpp"

namespace muster::why {
namespace {

constexpr int kFewestSamples = 5;
// A straggler is in collectives less than the others by this share of all time, and by this factor.
constexpr double kClearlyLess = 0.15;
constexpr double kAtMostOfOthers = 0.6;
constexpr double kMuchTime = 0.5;         // in collectives: the network is worth a look
constexpr double kLinkFactor = 2;         // a slow link against the median of the others
constexpr double kSlowRoundTrip = 0.001;  // seconds; below, differences do not matter
constexpr double kHungry = 0.9;           // of a processor

struct Share {
  const RankReading* rank = nullptr;
  double in_collectives = 0;
};

double mean_of(const std::vector<Share>& shares) {
  double sum = 0;
  for (const Share& share : shares) sum += share.in_collectives;
  return shares.empty() ? 0 : sum / static_cast<double>(shares.size());
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<Share> shares_of(const Case& the) {
  std::vector<Share> shares;
  for (const RankReading& rank : the.ranks) {
    if (rank.view == nullptr || rank.view->samples < kFewestSamples) continue;
    const double share =
        static_cast<double>(rank.view->samples_in_collectives) / rank.view->samples;
    shares.push_back({.rank = &rank, .in_collectives = std::clamp(share, 0.0, 1.0)});
  }
  std::stable_sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return a.in_collectives < b.in_collectives;
  });
  return shares;
}

// The late ranks are those below the widest gap in the shares, if few enough to be late for others.
std::size_t count_of_late(const std::vector<Share>& shares) {
  std::size_t late = 0;
  double widest = 0;
  for (std::size_t i = 1; i <= shares.size() / 2; ++i) {
    const double gap = shares[i].in_collectives - shares[i - 1].in_collectives;
    if (gap <= widest) continue;
    widest = gap;
    late = i;
  }
  return late;
}

std::string most_frequent_place(const RankReading& rank) {
  std::map<std::string, int> counts;
  for (const std::string& place : rank.view->places) ++counts[place];
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? rank.stack.place : most->first;
}

void add_processor(const RankReading& rank, Verdict& verdict) {
  const bool wants = rank.main != nullptr && rank.main->state == "R";
  if (wants && rank.cpu < kHungry) {
    verdict.details.push_back(
        fmt::format("rank {} gets {} of a processor although it is ready to run: a CPU limit, or "
                    "other processes on {}",
                    rank.rank, percent_text(rank.cpu), rank.host));
  }
}

Verdict straggler(const Case& the, const std::vector<Share>& late,
                  const std::vector<Share>& others) {
  Ranks ranks;
  for (const Share& share : late) ranks.push_back(share.rank);
  Verdict verdict{.kind = Kind::kStraggler, .hang = false};
  const bool one = ranks.size() == 1;
  const std::vector<std::string> hosts = hosts_of(ranks);
  std::size_t on_host = 0;
  for (const RankReading& rank : the.ranks) {
    if (!hosts.empty() && rank.host == hosts.front()) ++on_host;
  }
  const bool whole = hosts.size() == 1 && on_host == ranks.size() && !one;
  verdict.headline = fmt::format(
      "the others wait for {}{} most: {} {} of {} time in collectives, the others {} on average",
      whole ? "all ranks of " + hosts.front() + ", " : "", rank_names(ranks),
      one ? "it spends" : "they spend", percent_text(mean_of(late)), one ? "its" : "their",
      percent_text(mean_of(others)));
  const std::string place = most_frequent_place(*ranks.front());
  if (!place.empty())
    verdict.headline += fmt::format("; rank {} is mostly at {}", ranks.front()->rank, place);
  // What the others lose to it is how much more of their time they spend waiting.
  verdict.details.push_back(
      fmt::format("the others would save about {} of their time without that wait",
                  percent_text(mean_of(others) - mean_of(late))));
  for (std::size_t i = 0; i < std::min<std::size_t>(ranks.size(), 4); ++i)
    add_processor(*ranks[i], verdict);
  return about(the, std::move(verdict), ranks);
}

struct LinkLoad {
  std::vector<double> busy = {};
  std::vector<double> round_trips = {};
  std::int64_t retransmitted = 0;
};

// By host, of connections to other hosts; each counts for both ends.
std::map<std::string, LinkLoad> link_loads(const Case& the) {
  std::map<std::string, LinkLoad> loads;
  std::map<std::string, std::string> known;
  for (const RankReading& rank : the.ranks) {
    if (rank.view == nullptr) continue;
    for (const inspect::Connection& c : rank.view->connections) {
      auto peer = known.find(c.peer);
      if (peer == known.end())
        peer = known.emplace(c.peer, host_of_address(the.scene, c.peer)).first;
      if (peer->second.empty() || peer->second == rank.host) continue;
      for (const std::string& host : {rank.host, peer->second}) {
        loads[host].busy.push_back(std::clamp(c.busy, 0.0, 1.0));
        if (c.round_trip_s > 0) loads[host].round_trips.push_back(c.round_trip_s);
        loads[host].retransmitted += std::clamp<std::int64_t>(c.retransmitted, 0, 1'000'000'000);
      }
    }
  }
  return loads;
}

std::optional<Verdict> slow_link(const Case& the, double share) {
  const auto loads = link_loads(the);
  if (loads.size() < 2) return std::nullopt;
  std::string worst;
  double worst_factor = kLinkFactor;
  std::string why;
  for (const auto& [host, load] : loads) {
    std::vector<double> other_busy;
    std::vector<double> other_trips;
    std::int64_t other_retransmitted = 0;
    for (const auto& [other, its] : loads) {
      if (other == host) continue;
      other_busy.push_back(median_of(its.busy));
      other_trips.push_back(median_of(its.round_trips));
      other_retransmitted = std::max(other_retransmitted, its.retransmitted);
    }
    const double trip = median_of(load.round_trips);
    const double busy = median_of(load.busy);
    const double trips = trip < kSlowRoundTrip ? 0 : trip / std::max(median_of(other_trips), 1e-6);
    const double busier = busy < 0.2 ? 0 : busy / std::max(median_of(other_busy), 0.02);
    const double lost =
        load.retransmitted < 20
            ? 0
            : static_cast<double>(load.retransmitted) /
                  static_cast<double>(std::max<std::int64_t>(other_retransmitted, 1));
    const double factor = std::max({trips, busier, lost});
    if (factor < worst_factor || (factor == worst_factor && !worst.empty())) continue;
    worst_factor = factor;
    worst = host;
    why = fmt::format(
        "connections of {}: data on its way {} of the time (others {}), round trip {:.2f} ms "
        "(others {:.2f} ms), {} segments sent again",
        host, percent_text(busy), percent_text(median_of(other_busy)), 1e3 * trip,
        1e3 * median_of(other_trips), load.retransmitted);
  }
  if (worst.empty()) return std::nullopt;
  Verdict verdict{.kind = Kind::kSlowLink, .hosts = {worst}};
  verdict.headline = fmt::format(
      "the network of {} is slower than the others': all ranks spend {} of "
      "their time in collectives",
      worst, percent_text(share));
  verdict.details.push_back(why);
  Ranks ranks;
  for (const RankReading& rank : the.ranks) {
    if (rank.host == worst) ranks.push_back(&rank);
  }
  return about(the, std::move(verdict), ranks);
}

}  // namespace

Verdict judge_slow(const Scene& scene) {
  const Case the(scene);
  std::vector<Share> shares = shares_of(the);
  if (shares.size() < 2) {
    return {.kind = Kind::kUnknown,
            .headline = "the ranks did not tell how much of their time they spend in collectives"};
  }
  const double mean = mean_of(shares);
  const std::size_t count = count_of_late(shares);
  const auto middle = shares.begin() + static_cast<std::ptrdiff_t>(count);
  const std::vector<Share> late(shares.begin(), middle);
  const std::vector<Share> others(middle, shares.end());
  const double more = mean_of(others) - mean_of(late);
  if (!late.empty() && more >= kClearlyLess && mean_of(late) <= kAtMostOfOthers * mean_of(others)) {
    return straggler(the, late, others);
  }
  if (mean >= kMuchTime) {
    if (auto verdict = slow_link(the, mean)) return *verdict;
  }
  Verdict verdict{.kind = Kind::kBalanced};
  verdict.headline = fmt::format(
      "no rank makes the others wait: all spend about {} of their time in collectives ({} to {})",
      percent_text(mean), percent_text(shares.front().in_collectives),
      percent_text(shares.back().in_collectives));
  return verdict;
}

}  // namespace muster::why
