// Decides which hosts connect to which before a launch, and in what order. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace muster::run {

// Up to this many hosts, every host connects to every other.
inline constexpr std::size_t kMostForAllPairs = 256;

// For each host, the other hosts that it connects to, in order. The n-th entries of all hosts form
// a round of disjoint pairs that connect in both directions, so that no host gets many calls at
// once. With an odd number of hosts, each host skips one round, so that its later entries come one
// round earlier. With more than kMostForAllPairs hosts, each host connects to its two neighbours, a
// few dozen others and the first host; only the connections to those few dozen form disjoint
// rounds. Cost: linear in the number of entries.
[[nodiscard]] std::vector<std::vector<std::size_t>> peers_in_rounds(std::size_t hosts);

}  // namespace muster::run
