// Groups the failed connections between hosts into as few findings as possible. A firewall on one
// of 16 hosts should be one finding and not 15.
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
    kAround,     // `hosts` reach no host, and no host reaches them
    kInto,       // no host reaches `hosts`
    kOutOf,      // `hosts` reach no host
    kMutual,     // `hosts` and `others` do not reach each other
    kOneWay,     // `others` do not reach `hosts`
  };
  Kind kind = Kind::kOneWay;
  HostNumbers hosts = {};
  HostNumbers others = {};
  HostPairs pairs = {};  // the failed ones
};

// Every failed pair is in exactly one group. Cost: n log n in pairs.
[[nodiscard]] std::vector<ReachGroup> group_pairs(const HostPairs& tried, const HostPairs& failed);

}  // namespace muster::checks
