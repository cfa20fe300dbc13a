// Which host or which link is slow, out of what every pair measured. Pure.
//
// A host is judged by the pairs that went well for it: one that is slow with everyone is slow
// itself, and a pair that is slow between two hosts that are not is a slow link. What is slow is
// said by comparison with the other hosts, so that it needs no expectation.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/results.hpp"

namespace muster::bench {

// Below this share of what is usual, a bandwidth is slow.
constexpr double kSlowShare = 0.6;
// Above this multiple of what is usual, and beyond the noise of them all, a latency is.
constexpr double kSlowLatency = 3;
// Above this share of segments that had to be sent again, a link loses frames. A full queue loses
// some, and nobody is to blame.
constexpr double kLeastLoss = 0.01;

// Needs 3 hosts: of two nobody can tell who is slow.
[[nodiscard]] std::vector<Suspect> find_suspects(std::span<const Pair> pairs);

// Whom to measure again to be sure: a slow host with two hosts that are known to be good, a
// slow link, and each of its ends with a good one.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> second_look(
    std::span<const Suspect> suspects, std::span<const Pair> pairs);

// After the second look: confirmed, corrected (a link whose end is slow with good hosts too is that
// host), or not confirmed, with its sentence. `pairs` holds both looks.
[[nodiscard]] std::vector<Suspect> confirm(std::span<const Suspect> suspects,
                                           std::span<const Pair> pairs);

// The pairs of the first look that are not slow and have no part in a confirmed suspect. Pairs that
// join groups of hosts over a slow link are slow themselves, all of them.
[[nodiscard]] std::vector<Pair> healthy_pairs(std::span<const Pair> pairs,
                                              std::span<const Suspect> suspects);

}  // namespace muster::bench
