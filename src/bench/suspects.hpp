// Finds the host or the link that is slow, from the measurements of all pairs. Pure.
//
// A host is judged by its better pairs: if even these are slow, the host is slow. A pair that is
// slow between two good hosts means a slow link. Hosts and links are only compared with each other,
// so no expected values are needed.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/results.hpp"

namespace muster::bench {

// A bandwidth is slow if it is below this share of the usual one.
constexpr double kSlowShare = 0.6;
// A latency is slow if it is above this multiple of the usual one and also outside the general
// variation.
constexpr double kSlowLatency = 3;
// A link loses frames if more than this share of TCP segments had to be sent again. A smaller share
// is normal, because full queues drop frames.
constexpr double kLeastLoss = 0.01;

// Needs at least 3 hosts. With two, it is impossible to say which one is slow.
[[nodiscard]] std::vector<Suspect> find_suspects(std::span<const Pair> pairs);

// Returns the pairs to measure again before a suspect is reported: a slow host with two good hosts;
// a slow link, and each of its ends with a good host.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> second_look(
    std::span<const Suspect> suspects, std::span<const Pair> pairs);

// Returns the suspects after the second look; `pairs` must hold both looks. Each is confirmed,
// replaced by a host (if one end of the link is slow with good hosts too) or not confirmed, and
// `what` says why.
[[nodiscard]] std::vector<Suspect> confirm(std::span<const Suspect> suspects,
                                           std::span<const Pair> pairs);

// Returns the pairs of the first look that are not slow and do not belong to a confirmed suspect.
// If a slow link connects groups of hosts, all pairs across it are slow themselves and are left
// out.
[[nodiscard]] std::vector<Pair> healthy_pairs(std::span<const Pair> pairs,
                                              std::span<const Suspect> suspects);

}  // namespace muster::bench
