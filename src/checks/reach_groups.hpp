// Which hosts fail to reach which, in as few groups as possible: a firewall on one host of 16 is
// one thing to say and not 15.
#pragma once

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace muster::checks {

using HostPair = std::pair<std::size_t, std::size_t>;  // from, to
using HostPairs = std::set<HostPair>;
using HostNumbers = std::set<std::size_t>;

struct ReachGroup {
  enum class Kind {
    kEverybody,  // no host reaches any other
    kAround,     // `hosts` reach nobody, and nobody reaches them
    kInto,       // nobody reaches `hosts`
    kOutOf,      // `hosts` reach nobody
    kMutual,     // `hosts` and `others` do not reach each other
    kOneWay,     // `others` do not reach `hosts`
  };
  Kind kind = Kind::kOneWay;
  HostNumbers hosts = {};
  HostNumbers others = {};
  HostPairs pairs = {};  // those that failed
};

// Every failed pair is in exactly one group. Cost: linear in pairs, but for a logarithm.
[[nodiscard]] std::vector<ReachGroup> group_pairs(const HostPairs& tried, const HostPairs& failed);

}  // namespace muster::checks
