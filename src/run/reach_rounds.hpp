// Which hosts connect to which before a launch, and in what order. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace muster::run {

// Up to so many hosts all connect to all.
inline constexpr std::size_t kMostForAllPairs = 256;

// For each host the others that it connects to, in order. The n-th entries of all hosts are a round
// of disjoint pairs, each in both directions, so that no host is called by many at once (if the
// number of hosts is odd, each has one round less, and the rounds overlap). With more than
// kMostForAllPairs hosts, each connects to its two neighbours, a few dozen others and the first
// host, and only the rounds of the others are disjoint. Cost: linear in entries.
[[nodiscard]] std::vector<std::vector<std::size_t>> peers_in_rounds(std::size_t hosts);

}  // namespace muster::run
