#include "checks/reach_groups.hpp"

#include <map>

namespace muster::checks {
namespace {

using Kind = ReachGroup::Kind;
using Partners = std::map<std::size_t, HostNumbers>;

HostPair reversed(const HostPair& pair) {
  return {pair.second, pair.first};
}

Partners sources_of_targets(const HostPairs& pairs) {
  Partners partners;
  for (const auto& [from, to] : pairs) partners[to].insert(from);
  return partners;
}

Partners targets_of_sources(const HostPairs& pairs) {
  Partners partners;
  for (const auto& [from, to] : pairs) partners[from].insert(to);
  return partners;
}

// The hosts that have more than one partner in `tried` and for which all of these pairs failed.
HostNumbers fully_failed(const Partners& tried, const Partners& failed) {
  HostNumbers hosts;
  for (const auto& [host, partners] : failed) {
    if (partners.size() > 1 && partners == tried.at(host)) hosts.insert(host);
  }
  return hosts;
}

class Grouping {
 public:
  Grouping(const HostPairs& tried, const HostPairs& failed) : tried_(tried), left_(failed) {}

  std::vector<ReachGroup> run() {
    if (left_.empty()) return {};
    if (left_ == tried_ && left_.size() > 1) {
      take({.kind = Kind::kEverybody, .pairs = left_});
      return groups_;
    }
    take_whole_hosts();
    take_mutual();
    take_one_way();
    return groups_;
  }

 private:
  void take_whole_hosts() {
    const HostNumbers into = fully_failed(sources_of_targets(tried_), sources_of_targets(left_));
    const HostNumbers out = fully_failed(targets_of_sources(tried_), targets_of_sources(left_));
    HostNumbers both;
    for (const std::size_t host : into) {
      if (out.contains(host)) both.insert(host);
    }
    take_ends(Kind::kAround, both, both);
    take_ends(Kind::kInto, {}, into);
    take_ends(Kind::kOutOf, out, {});
  }

  // Takes the pairs that begin at `sources` or end at `targets`. A host is not named again if all
  // of its pairs are in earlier groups.
  void take_ends(Kind kind, const HostNumbers& sources, const HostNumbers& targets) {
    ReachGroup group{.kind = kind};
    for (const HostPair& pair : left_) {
      if (sources.contains(pair.first)) group.hosts.insert(pair.first);
      if (targets.contains(pair.second)) group.hosts.insert(pair.second);
      const bool belongs = sources.contains(pair.first) || targets.contains(pair.second);
      if (belongs) group.pairs.insert(pair);
    }
    if (!group.pairs.empty()) take(std::move(group));
  }

  void take_mutual() {
    HostPairs mutual;
    for (const HostPair& pair : left_) {
      if (left_.contains(reversed(pair))) mutual.insert(pair);
    }
    take_alike(Kind::kMutual, mutual);
  }

  void take_one_way() { take_alike(Kind::kOneWay, left_); }

  // Puts hosts with the same partners into one group.
  void take_alike(Kind kind, const HostPairs& pairs) {
    std::map<HostNumbers, HostNumbers> hosts_by_partners;
    for (const auto& [host, partners] : sources_of_targets(pairs)) {
      hosts_by_partners[partners].insert(host);
    }
    for (const auto& [partners, hosts] : hosts_by_partners) {
      ReachGroup group{.kind = kind, .hosts = hosts, .others = partners};
      for (const std::size_t host : hosts) {
        for (const std::size_t partner : partners) add(group, {partner, host});
      }
      if (!group.pairs.empty()) take(std::move(group));
    }
  }

  void add(ReachGroup& group, const HostPair& pair) const {
    if (!left_.contains(pair)) return;
    group.pairs.insert(pair);
    if (group.kind == Kind::kMutual) group.pairs.insert(reversed(pair));
  }

  void take(ReachGroup group) {
    for (const HostPair& pair : group.pairs) left_.erase(pair);
    groups_.push_back(std::move(group));
  }

  const HostPairs& tried_;
  HostPairs left_;
  std::vector<ReachGroup> groups_;
};

}  // namespace

std::vector<ReachGroup> group_pairs(const HostPairs& tried, const HostPairs& failed) {
  return Grouping(tried, failed).run();
}

}  // namespace muster::checks
