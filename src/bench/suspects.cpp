#include "bench/suspects.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/numbers.hpp"
#include "hosts/fold.hpp"

namespace muster::bench {
namespace {

using Names = std::pair<std::string, std::string>;

// Returns a quantile that is always one of the values, because the mean of a slow and a fast value
// would be meaningless.
double ranked(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(std::lround(at))];
}

// Returns the measured value of this aspect, converted so that larger is better.
double value_of(const Pair& pair, Aspect aspect) {
  if (aspect == Aspect::kLatency) return pair.latency_s > 0 ? 1 / pair.latency_s : 0;
  if (aspect == Aspect::kLoss) return 1 - pair.resent;
  return std::min(pair.forward, pair.backward);
}

// What is usual for an aspect, and from which value on a pair or host is slow.
class Usual {
 public:
  Usual(std::span<const Pair> pairs, Aspect aspect) : aspect_(aspect) {
    std::map<std::string, std::vector<double>> values;
    std::vector<double> all;
    for (const Pair& pair : pairs) {
      if (pair.again) continue;
      values[pair.one].push_back(value_of(pair, aspect));
      values[pair.other].push_back(value_of(pair, aspect));
      all.push_back(value_of(pair, aspect));
    }
    std::vector<double> typical;
    for (const auto& [host, of_host] : values) {
      of_host_[host] = ranked(of_host, 0.75);
      median_of_[host] = ranked(of_host, 0.5);
      typical.push_back(of_host_[host]);
    }
    reference_ = ranked(typical, 0.5);
    if (aspect == Aspect::kLatency) find_latency_limit(all);
    constexpr double kLossFactor = 5;
    loss_limit_ = std::max(kLeastLoss, kLossFactor * (1 - ranked(all, 0.5)));
  }

  // Returns the value that a host reaches with its better partners.
  [[nodiscard]] double of_host(const std::string& host) const { return of_host_.at(host); }
  [[nodiscard]] double median_of(const std::string& host) const { return median_of_.at(host); }
  [[nodiscard]] double reference() const { return reference_; }
  [[nodiscard]] const std::map<std::string, double>& hosts() const { return of_host_; }

  [[nodiscard]] bool slow(double value) const {
    if (aspect_ == Aspect::kLatency) return value > 0 && 1 / value > latency_limit_;
    if (aspect_ == Aspect::kLoss) return 1 - value > loss_limit_;
    return value < kSlowShare * reference_;
  }
  // Whether this value is slow for a link between two hosts that are not slow themselves.
  [[nodiscard]] bool slow_link(const Pair& pair, double value) const {
    if (aspect_ != Aspect::kBandwidth) return slow(value);
    return slow(value) && value < kSlowShare * std::min(of_host(pair.one), of_host(pair.other));
  }

 private:
  // Sets the limit above the variation of latencies on hosts that share CPUs or use power saving.
  void find_latency_limit(const std::vector<double>& inverse) {
    std::vector<double> seconds;
    for (const double one : inverse) {
      if (one > 0) seconds.push_back(1 / one);
    }
    const double middle = ranked(seconds, 0.5);
    std::vector<double> deviations;
    for (const double one : seconds) deviations.push_back(std::abs(one - middle));
    constexpr double kLeastSeconds = 100e-6;
    constexpr double kDeviations = 8;
    latency_limit_ = middle + std::max({(kSlowLatency - 1) * middle, kLeastSeconds,
                                        kDeviations * ranked(deviations, 0.5)});
  }

  Aspect aspect_;
  std::map<std::string, double> of_host_;
  std::map<std::string, double> median_of_;
  double reference_ = 0;
  double latency_limit_ = 0;
  double loss_limit_ = 1;
};

std::string value_text(Aspect aspect, double value) {
  if (aspect == Aspect::kLatency) return value > 0 ? duration(1 / value) : "no answer";
  if (aspect == Aspect::kLoss) return percent(1 - value);
  return speed(value);
}

Suspect slow_host(const std::string& host, const Usual& usual, Aspect aspect) {
  const bool everyone = usual.slow(usual.of_host(host));
  const double value = everyone ? usual.of_host(host) : usual.median_of(host);
  const char* with = everyone ? "all hosts" : "most hosts";
  const std::string found = value_text(aspect, value);
  const std::string others = value_text(aspect, usual.reference());
  const char* middle = everyone ? "at best" : "as a median";
  std::string what;
  if (aspect == Aspect::kLoss) {
    what = fmt::format(
        "{} loses frames to and from {}: {} have to be sent again {}, compared with {} elsewhere",
        host, with, found, middle, others);
  } else if (aspect == Aspect::kLatency) {
    what = fmt::format(
        "{} has a high latency to {}: a message takes {} {}, compared with {} elsewhere", host,
        with, found, middle, others);
  } else {
    what = fmt::format("{} is slow with {}: it reaches {} {}, while the others reach {}", host,
                       with, found, middle, others);
  }
  return {.hosts = {host}, .what = std::move(what), .aspect = aspect};
}

Suspect slow_path(const Pair& pair, const Usual& usual, Aspect aspect) {
  const std::string found = value_text(aspect, value_of(pair, aspect));
  const std::string one = value_text(aspect, usual.of_host(pair.one));
  const std::string other = value_text(aspect, usual.of_host(pair.other));
  const std::string link = fmt::format("the link between {} and {}", pair.one, pair.other);
  std::string what;
  if (aspect == Aspect::kLoss) {
    what = fmt::format(
        "{} loses frames: {} had to be sent again; between these hosts and others {} and {}", link,
        found, one, other);
  } else if (aspect == Aspect::kLatency) {
    what = fmt::format(
        "{} has a high latency: a message takes {}; between these hosts and others {} and {}", link,
        found, one, other);
  } else {
    what = fmt::format("{} is slow: {}, while {} and {} reach {} and {} with other hosts", link,
                       found, pair.one, pair.other, one, other);
  }
  return {.hosts = {pair.one, pair.other}, .what = std::move(what), .aspect = aspect};
}

// The groups of hosts that are connected by good pairs, directly or through other hosts.
class Groups {
 public:
  void add(const std::string& host) { leader_.try_emplace(host, host); }
  void join(const std::string& one, const std::string& other) { leader_[of(one)] = of(other); }
  [[nodiscard]] std::string of(std::string host) {
    while (leader_[host] != host) host = leader_[host];
    return host;
  }
  [[nodiscard]] std::map<std::string, std::vector<std::string>> all() {
    std::map<std::string, std::vector<std::string>> members;
    for (const auto& [host, leader] : leader_) members[of(host)].push_back(host);
    return members;
  }

 private:
  std::map<std::string, std::string> leader_;
};

// If pairs within groups are fast and all pairs between groups are slow, then the fault is not in a
// host but in what connects the groups. The suspect that is returned names one pair, which
// represents all pairs between groups.
std::optional<Suspect> slow_between(std::span<const Pair> good, std::span<const Pair> bad,
                                    Aspect aspect) {
  Groups groups;
  for (const Pair& pair : bad) groups.add(pair.one), groups.add(pair.other);
  for (const Pair& pair : good) {
    groups.add(pair.one), groups.add(pair.other);
    groups.join(pair.one, pair.other);
  }
  const auto all = groups.all();
  const bool each_has_two = std::all_of(all.begin(), all.end(),
                                        [](const auto& group) { return group.second.size() > 1; });
  if (all.size() < 2 || !each_has_two) return std::nullopt;
  std::vector<std::string> names;
  for (const auto& [leader, members] : all) names.push_back(hosts::fold(members));
  return Suspect{
      .hosts = {bad.front().one, bad.front().other},
      .what = fmt::format(
          "the hosts form groups, {}; links within a group are fast and links between groups are "
          "slow ({} from {} to {}), so the link between the groups' switches is suspect",
          fmt::join(names, " and "), value_text(aspect, value_of(bad.front(), aspect)),
          bad.front().one, bad.front().other),
      .aspect = aspect};
}

void find_of(std::span<const Pair> pairs, Aspect aspect, std::vector<Suspect>& found) {
  const Usual usual(pairs, aspect);
  if (usual.hosts().size() < 3) return;
  std::set<std::string> slow;
  for (const auto& [host, value] : usual.hosts()) {
    if (usual.slow(value)) slow.insert(host);
  }
  std::vector<Pair> good;
  std::vector<Pair> bad;
  std::map<std::string, int> bad_links;
  std::map<std::string, int> links;
  for (const Pair& pair : pairs) {
    if (pair.again || slow.contains(pair.one) || slow.contains(pair.other)) continue;
    const bool is_bad = usual.slow_link(pair, value_of(pair, aspect));
    (is_bad ? bad : good).push_back(pair);
    for (const std::string& host : {pair.one, pair.other}) {
      ++links[host];
      bad_links[host] += is_bad ? 1 : 0;
    }
  }
  const auto between = bad.size() > 1 ? slow_between(good, bad, aspect) : std::nullopt;
  // A host is slow if more than half of its links to other good hosts are slow. Its few fast links
  // were luck.
  for (const auto& [host, count] : bad_links) {
    if (!between && count >= 2 && 2 * count > links[host]) slow.insert(host);
  }
  for (const std::string& host : slow) found.push_back(slow_host(host, usual, aspect));
  if (between) return found.push_back(*between);
  for (const Pair& pair : bad) {
    if (slow.contains(pair.one) || slow.contains(pair.other)) continue;
    found.push_back(slow_path(pair, usual, aspect));
  }
}

// Whether the suspect is a link with a high latency. On busy hosts many links have one by chance,
// so their ends still count as good hosts for bandwidth and loss.
bool is_late_link(const Suspect& suspect) {
  return suspect.aspect == Aspect::kLatency && suspect.hosts.size() == 2;
}

std::set<std::string> ends_of_late_links(std::span<const Suspect> suspects) {
  std::set<std::string> ends;
  for (const Suspect& suspect : suspects) {
    if (is_late_link(suspect)) ends.insert(suspect.hosts.begin(), suspect.hosts.end());
  }
  return ends;
}

// Returns the hosts that are not suspects, the fastest first. Ends of links with a high latency
// come last.
std::vector<std::string> good_hosts(std::span<const Suspect> suspects,
                                    std::span<const Pair> pairs) {
  std::set<std::string> bad;
  for (const Suspect& suspect : suspects) {
    if (!is_late_link(suspect)) bad.insert(suspect.hosts.begin(), suspect.hosts.end());
  }
  const std::set<std::string> late = ends_of_late_links(suspects);
  const Usual usual(pairs, Aspect::kBandwidth);
  std::vector<std::tuple<bool, double, std::string>> good;
  for (const auto& [host, value] : usual.hosts()) {
    if (!bad.contains(host) && !usual.slow(value)) {
      good.emplace_back(late.contains(host), -value, host);
    }
  }
  std::sort(good.begin(), good.end());
  std::vector<std::string> names;
  for (const auto& [is_late, value, host] : good) names.push_back(host);
  return names;
}

bool joins(const Pair& pair, const std::string& one, const std::string& other) {
  return (pair.one == one && pair.other == other) || (pair.one == other && pair.other == one);
}

const Pair* find_pair(std::span<const Pair> pairs, const std::string& one, const std::string& other,
                      bool again) {
  const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const Pair& pair) {
    return pair.again == again && joins(pair, one, other);
  });
  return found == pairs.end() ? nullptr : &*found;
}

// The second measurements with good hosts, and the general change since the first look. Bandwidths
// rise in the second look, because no other pairs measure at the same time.
struct SecondLook {
  std::span<const Pair> pairs;
  std::set<std::string> good;
  Aspect aspect;
  double change = 1;  // median change of pairs of good hosts

  SecondLook(std::span<const Suspect> suspects, std::span<const Pair> all, Aspect of)
      : pairs(all), aspect(of) {
    const std::set<std::string> late = ends_of_late_links(suspects);
    for (const std::string& host : good_hosts(suspects, all)) {
      if (of != Aspect::kLatency || !late.contains(host)) good.insert(host);
    }
    std::vector<double> changes;
    for (const Pair& pair : all) {
      if (!pair.again || !good.contains(pair.one) || !good.contains(pair.other)) continue;
      const Pair* first = find_pair(all, pair.one, pair.other, false);
      if (first != nullptr && value_of(*first, aspect) > 0) {
        changes.push_back(value_of(pair, aspect) / value_of(*first, aspect));
      }
    }
    // Only an increase counts. If pairs of good hosts were slower by chance, that must not excuse a
    // suspect.
    constexpr double kMostChange = 4;
    if (!changes.empty() && of == Aspect::kBandwidth) {
      change = std::clamp(ranked(changes, 0.5), 1.0, kMostChange);
    }
  }

  // Returns the value that this pair would have had in the first look.
  [[nodiscard]] double value(const Pair& pair) const { return value_of(pair, aspect) / change; }

  [[nodiscard]] std::vector<Pair> with_good(const std::string& host) const {
    std::vector<Pair> again;
    for (const Pair& pair : pairs) {
      const bool mine = pair.one == host || pair.other == host;
      if (pair.again && mine && good.contains(pair.one == host ? pair.other : pair.one)) {
        again.push_back(pair);
      }
    }
    return again;
  }
};

void confirm_host(Suspect& suspect, const Usual& usual, const SecondLook& look) {
  const auto again = look.with_good(suspect.hosts[0]);
  std::vector<std::string> with;
  bool slow = !again.empty();
  for (const Pair& pair : again) {
    slow = slow && usual.slow(look.value(pair));
    with.push_back(fmt::format("{} with {}", value_text(look.aspect, value_of(pair, look.aspect)),
                               pair.one == suspect.hosts[0] ? pair.other : pair.one));
  }
  suspect.confirmed = slow;
  suspect.what += again.empty() ? "; it was not measured again with a good host"
                                : fmt::format("; measured again: {}{}", fmt::join(with, ", "),
                                              slow ? "" : ": not slow this time");
}

void confirm_link(Suspect& suspect, const Usual& usual, const SecondLook& look) {
  const Pair* again = find_pair(look.pairs, suspect.hosts[0], suspect.hosts[1], true);
  if (again == nullptr) {
    suspect.what += "; it was not measured again";
    return;
  }
  suspect.confirmed = usual.slow_link(*again, look.value(*again));
  suspect.what +=
      fmt::format("; measured again: {}{}", value_text(look.aspect, value_of(*again, look.aspect)),
                  suspect.confirmed ? "" : ": not slow this time");
  if (!suspect.confirmed) return;
  // If one end is slow with a good host too, then the host is the cause and not the link.
  for (const std::string& end : std::vector<std::string>(suspect.hosts)) {
    const auto others = look.with_good(end);
    const bool slow = std::all_of(others.begin(), others.end(),
                                  [&](const Pair& pair) { return usual.slow(look.value(pair)); });
    if (!others.empty() && slow) {
      suspect.hosts = {end};
      suspect.what +=
          fmt::format("; {} was slow with a good host too, so the host is the cause", end);
      return;
    }
  }
}

bool is_of_suspect(const Pair& pair, std::span<const Suspect> suspects) {
  return std::any_of(suspects.begin(), suspects.end(), [&](const Suspect& suspect) {
    const std::string& first = suspect.hosts.front();
    if (suspect.hosts.size() == 2) return suspect.confirmed && joins(pair, first, suspect.hosts[1]);
    return suspect.confirmed && (pair.one == first || pair.other == first);
  });
}

}  // namespace

std::vector<Suspect> find_suspects(std::span<const Pair> pairs) {
  std::vector<Suspect> found;
  find_of(pairs, Aspect::kBandwidth, found);
  // A host or link that loses or queues frames also has a low bandwidth and a high latency. Report
  // it only once.
  for (const Aspect aspect : {Aspect::kLoss, Aspect::kLatency}) {
    std::vector<Suspect> more;
    find_of(pairs, aspect, more);
    for (Suspect& suspect : more) {
      const auto known = std::find_if(found.begin(), found.end(), [&](const Suspect& one) {
        return one.hosts == suspect.hosts ||
               (one.hosts.size() == 1 &&
                std::count(suspect.hosts.begin(), suspect.hosts.end(), one.hosts.front()) > 0);
      });
      if (known == found.end()) {
        found.push_back(std::move(suspect));
      } else if (known->hosts == suspect.hosts && aspect == Aspect::kLoss) {
        known->what += "; " + suspect.what;
        // For a link, loss is the better criterion, because an unstable link may not be slow in the
        // second look. A slow host stays slow, even if its queue also loses frames.
        if (known->hosts.size() == 2) known->aspect = Aspect::kLoss;
      }
    }
  }
  return found;
}

std::vector<Names> second_look(std::span<const Suspect> suspects, std::span<const Pair> pairs) {
  constexpr std::size_t kGoodOnes = 2;
  constexpr std::size_t kMostSuspects = 6;  // if many hosts are slow, a few represent them
  const std::vector<std::string> good = good_hosts(suspects, pairs);
  std::vector<Names> wanted;
  // Returns a good host with which this end of a slow link was fast in the first look. If the hosts
  // form two groups, this finds one of the same group.
  const auto partner = [&](const std::string& end, Aspect aspect) -> std::string {
    const Usual usual(pairs, aspect);
    for (const std::string& host : good) {
      const Pair* first = find_pair(pairs, end, host, false);
      if (first != nullptr && !usual.slow(value_of(*first, aspect))) return host;
    }
    return "";
  };
  for (const Suspect& suspect : suspects.first(std::min(suspects.size(), kMostSuspects))) {
    if (suspect.hosts.size() == 1) {
      for (std::size_t i = 0; i < std::min(kGoodOnes, good.size()); ++i) {
        wanted.emplace_back(suspect.hosts[0], good[i]);
      }
      continue;
    }
    wanted.emplace_back(suspect.hosts[0], suspect.hosts[1]);
    if (suspect.aspect == Aspect::kLatency) continue;  // most of these are slow by chance
    for (const std::string& end : suspect.hosts) {
      if (const auto host = partner(end, suspect.aspect); !host.empty()) {
        wanted.emplace_back(end, host);
      }
    }
  }
  // For comparison, measure one pair of good hosts again that was measured in the first look.
  for (std::size_t i = 1; i < good.size() && !wanted.empty(); ++i) {
    if (find_pair(pairs, good[0], good[i], false) == nullptr) continue;
    wanted.emplace_back(good[0], good[i]);
    break;
  }
  return wanted;
}

std::vector<Suspect> confirm(std::span<const Suspect> suspects, std::span<const Pair> pairs) {
  struct Measures {
    Usual usual;
    SecondLook look;
  };
  std::map<Aspect, Measures> measures;  // only for aspects that have a suspect
  std::vector<Suspect> confirmed;
  for (Suspect suspect : suspects) {
    const Aspect aspect = suspect.aspect;
    if (!measures.contains(aspect)) {
      measures.emplace(aspect, Measures{Usual(pairs, aspect), SecondLook(suspects, pairs, aspect)});
    }
    const auto& [usual, look] = measures.at(aspect);
    suspect.hosts.size() == 1 ? confirm_host(suspect, usual, look)
                              : confirm_link(suspect, usual, look);
    const bool known = std::any_of(confirmed.begin(), confirmed.end(), [&](const Suspect& one) {
      return one.hosts == suspect.hosts && one.aspect == suspect.aspect;
    });
    if (!known) confirmed.push_back(std::move(suspect));
  }
  return confirmed;
}

std::vector<Pair> healthy_pairs(std::span<const Pair> pairs, std::span<const Suspect> suspects) {
  const Usual usual(pairs, Aspect::kBandwidth);
  std::vector<Pair> healthy;
  std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(healthy), [&](const Pair& pair) {
    const bool slow = usual.slow(value_of(pair, Aspect::kBandwidth));
    return !pair.again && !slow && !is_of_suspect(pair, suspects);
  });
  return healthy;
}

}  // namespace muster::bench
