// Which hosts measure with each other at the same time. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace muster::bench {

// Pairs of hosts, by number; no host is in two of them.
using Round = std::vector<std::pair<int, int>>;

// Every pair once: n-1 rounds (n of an odd number, in each of which one host pauses). With `most`
// > 0 only so many of the rounds, evenly chosen: every host meets as many others.
[[nodiscard]] std::vector<Round> all_pairs(int hosts, int most = 0);

// "0-1,2-3;0-2,1-3", as muster-bench reads it.
[[nodiscard]] std::string to_words(const std::vector<Round>& rounds);

// As many of all_pairs as one word of a command line holds.
[[nodiscard]] std::vector<Round> pairs_that_fit(int hosts, int most);

}  // namespace muster::bench
