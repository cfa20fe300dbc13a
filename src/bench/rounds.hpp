// Plans which hosts measure with each other at the same time. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace muster::bench {

// Pairs of hosts, by index. No host is in two of them.
using Round = std::vector<std::pair<int, int>>;

// Returns rounds in which every pair meets once: n-1 rounds, or n if n is odd, with one host
// pausing in each. If `most` > 0, returns at most that many of them, evenly chosen, so that every
// host still meets equally many others.
[[nodiscard]] std::vector<Round> all_pairs(int hosts, int most = 0);

// Returns "0-1,2-3;0-2,1-3", the form that muster-bench reads.
[[nodiscard]] std::string to_words(const std::vector<Round>& rounds);

// Like all_pairs, but returns fewer rounds if they would not fit into one argument of a command
// line.
[[nodiscard]] std::vector<Round> pairs_that_fit(int hosts, int most);

}  // namespace muster::bench
