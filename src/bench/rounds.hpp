// Which hosts measure with each other at the same time. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace muster::bench {

// Pairs of hosts, by index. No host is in two of them.
using Round = std::vector<std::pair<int, int>>;

// Every pair once, in n-1 rounds. If n is odd there are n rounds, and one host pauses in each. If
// `most` > 0, returns only that many rounds, evenly chosen, so that every host still meets equally
// many others.
[[nodiscard]] std::vector<Round> all_pairs(int hosts, int most = 0);

// Returns "0-1,2-3;0-2,1-3", the form that muster-bench reads.
[[nodiscard]] std::string to_words(const std::vector<Round>& rounds);

// As many rounds of all_pairs as fit into one argument of a command line.
[[nodiscard]] std::vector<Round> pairs_that_fit(int hosts, int most);

}  // namespace muster::bench
