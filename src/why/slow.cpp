// judge_slow: finds the ranks for which the others wait most in a job that advances.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "why/numbers.hpp"
#include "why/rules.hpp"
#include "why/words.hpp"

namespace muster::why {
namespace {

constexpr int kFewestSamples = 5;
// A straggler spends less time in collectives than the others do: less by at least this share of
// all time, and at most this fraction of the others' time.
constexpr double kClearlyLess = 0.15;
constexpr double kAtMostOfOthers = 0.6;
// Share of time in collectives that makes the network worth a look.
constexpr double kMuchTime = 0.5;
constexpr double kLinkFactor = 2;         // a slow link is so many times worse than the others
constexpr double kSlowRoundTrip = 0.001;  // seconds; below this, differences do not matter
constexpr double kHungry = 0.9;           // share of a CPU; a rank that uses less may lack CPU time
// Samples needed to show that a rank stays in one place.
constexpr std::size_t kFewestSamePlaces = 3;

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

// Returns, by key_of(group), the largest number of collectives that any rank has begun in the
// group.
std::map<std::string, std::int64_t> most_begun(const Case& the) {
  std::map<std::string, std::int64_t> begun;
  for (const RankReading& rank : the.ranks) {
    if (rank.view == nullptr) continue;
    for (const inspect::Group& group : rank.view->groups) {
      std::int64_t& most = begun[key_of(group)];
      most = std::max(most, group.begun);
    }
  }
  return begun;
}

// Whether the rank takes part in collectives. A pipeline stage or a helper may call none, so that
// no other rank waits for it in one.
bool takes_part(const RankReading& rank, const std::map<std::string, std::int64_t>& begun) {
  if (rank.view->samples_in_collectives > 0) return true;
  return std::any_of(
      rank.view->groups.begin(), rank.view->groups.end(), [&](const inspect::Group& group) {
        return group.begun > group.begun_before || group.begun < begun.at(key_of(group));
      });
}

// Returns how many samples the rank that answered most often has. All shares refer to this number:
// while a rank gets no CPU time it cannot answer, but it is not in a collective then either.
int most_samples(const Case& the) {
  int most = kFewestSamples;
  for (const RankReading& rank : the.ranks) {
    if (rank.view != nullptr) most = std::max(most, rank.view->samples);
  }
  return most;
}

std::vector<Share> shares_of(const Case& the) {
  std::vector<Share> shares;
  const int samples = most_samples(the);
  const std::map<std::string, std::int64_t> begun = most_begun(the);
  for (const RankReading& rank : the.ranks) {
    if (rank.view == nullptr || rank.view->samples < kFewestSamples) continue;
    if (!takes_part(rank, begun)) continue;
    const double share = static_cast<double>(rank.view->samples_in_collectives) / samples;
    shares.push_back({.rank = &rank, .in_collectives = limited(share, 0, 1)});
  }
  std::stable_sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return a.in_collectives < b.in_collectives;
  });
  return shares;
}

// The late ranks are those below the widest gap in the shares. Only half of the ranks, at most, can
// be late.
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

bool stays_in_one_place(const RankReading& rank) {
  const std::vector<std::string>& places = rank.view->places;
  if (places.size() < kFewestSamePlaces) return false;
  return std::all_of(places.begin(), places.end(), [&](const std::string& place) {
    return without_line(place) == without_line(places.front());
  });
}

// Adds a detail if the rank is slow because it does not get enough CPU time. That it was ready to
// run when muster looked does not prove it: a rank that often sleeps may be, too.
void add_processor(const RankReading& rank, Verdict& verdict) {
  if (rank.main == nullptr || rank.main->state != "R" || rank.cpu >= kHungry) return;
  const std::string got =
      fmt::format("rank {} was ready to run when muster looked, but used only {} of a processor",
                  rank.rank, percent_text(rank.cpu));
  const inspect::HostView* host = rank.host_view;
  if (host != nullptr && host->processors > 0 && host->load > host->processors) {
    verdict.details.push_back(
        fmt::format("{}: about {:.0f} processes compete for the {} processors of {}", got,
                    limited(host->load, 0, 1e6), host->processors, rank.host));
  } else if (stays_in_one_place(rank)) {
    verdict.details.push_back(
        fmt::format("{}: if it only computes there, a CPU limit slows it down", got));
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
  // The others lose the difference between their own share of time in collectives and the late
  // ranks'.
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

// The connections of one host, summarised. `busy` and `round_trip` are medians.
struct Link {
  std::string host = {};
  double busy = 0;
  double round_trip = 0;
  std::int64_t retransmitted = 0;
};

// Returns one Link per host. A connection between two hosts counts for both.
std::vector<Link> links_of(const Case& the) {
  std::map<std::string, LinkLoad> loads;
  const std::map<std::string, std::string> hosts = hosts_by_address(the.scene);
  for (const RankReading& rank : the.ranks) {
    if (rank.view == nullptr) continue;
    for (const inspect::Connection& c : rank.view->connections) {
      const auto peer = hosts.find(c.peer);
      if (peer == hosts.end() || peer->second == rank.host) continue;
      for (const std::string& host : {rank.host, peer->second}) {
        LinkLoad& load = loads[host];
        load.busy.push_back(limited(c.busy, 0, 1));
        if (c.round_trip_s > 0) load.round_trips.push_back(std::min(c.round_trip_s, 1e6));
        load.retransmitted += std::clamp<std::int64_t>(c.retransmitted, 0, 1'000'000'000);
      }
    }
  }
  std::vector<Link> links;
  for (auto& [host, load] : loads) {
    links.push_back({.host = host,
                     .busy = median_of(std::move(load.busy)),
                     .round_trip = median_of(std::move(load.round_trips)),
                     .retransmitted = load.retransmitted});
  }
  return links;
}

Link median_of_others(const std::vector<Link>& links, const Link& link) {
  std::vector<double> busy;
  std::vector<double> round_trips;
  Link others;
  for (const Link& other : links) {
    if (&other == &link) continue;
    busy.push_back(other.busy);
    round_trips.push_back(other.round_trip);
    others.retransmitted = std::max(others.retransmitted, other.retransmitted);
  }
  others.busy = median_of(std::move(busy));
  others.round_trip = median_of(std::move(round_trips));
  return others;
}

// How many times worse the link is than the others, in the respect in which it is worst.
double factor_of(const Link& link, const Link& others) {
  const double slower =
      link.round_trip < kSlowRoundTrip ? 0 : link.round_trip / std::max(others.round_trip, 1e-6);
  const double busier = link.busy < 0.2 ? 0 : link.busy / std::max(others.busy, 0.02);
  const double lost =
      link.retransmitted < 20
          ? 0
          : static_cast<double>(link.retransmitted) /
                static_cast<double>(std::max<std::int64_t>(others.retransmitted, 1));
  return std::max({slower, busier, lost});
}

std::optional<Verdict> slow_link(const Case& the, double share) {
  const std::vector<Link> links = links_of(the);
  std::string worst;
  double worst_factor = kLinkFactor;
  std::string why;
  for (const Link& link : links) {
    if (links.size() < 2) break;
    const Link others = median_of_others(links, link);
    const double factor = factor_of(link, others);
    if (factor < worst_factor || (factor == worst_factor && !worst.empty())) continue;
    worst_factor = factor;
    worst = link.host;
    why = fmt::format(
        "connections of {}: data on its way {} of the time (others {}), round trip {:.2f} ms "
        "(others {:.2f} ms), {} segments sent again",
        worst, percent_text(link.busy), percent_text(others.busy), 1e3 * link.round_trip,
        1e3 * others.round_trip, link.retransmitted);
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
    const auto sampled =
        std::count_if(the.ranks.begin(), the.ranks.end(), [](const RankReading& rank) {
          return rank.view != nullptr && rank.view->samples >= kFewestSamples;
        });
    return {.kind = Kind::kUnknown,
            .headline =
                sampled >= 2
                    ? "fewer than two ranks called collectives while muster watched"
                    : "the ranks did not tell how much of their time they spend in collectives"};
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
