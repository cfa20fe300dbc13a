// Compares links with the rates that `muster bench pairs --save` saved. If all links became equally
// slow, comparing them with each other shows nothing. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/results.hpp"
#include "facts/saved_state.hpp"

namespace muster::bench {

// One direction of a link that is slow (kSlowShare) compared with its saved rate.
struct SlowedLink {
  std::string from;
  std::string to;
  double now = 0;  // bytes a second
  double then = 0;
  double saved_s = 0;  // Unix time
};

// The slowest first, compared with what they reached. `how` is that of facts::SavedRate.
[[nodiscard]] std::vector<SlowedLink> find_slowed(std::span<const Pair> pairs,
                                                  std::span<const facts::SavedState> saved,
                                                  std::string_view how);

// The links to measure once more, each alone.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> to_measure_again(
    std::span<const SlowedLink> slowed);

// After the second look, which `pairs` holds too. Nothing: none of these links has a saved rate.
[[nodiscard]] std::optional<Judgement> judge_slowed(std::span<const Pair> pairs,
                                                    std::span<const facts::SavedState> saved,
                                                    std::string_view how);

// What each host calls itself. A missing or empty hostname is not known.
using Hostnames = std::map<std::string, std::string>;

// Without the states that cannot be used or were saved for a machine with another hostname, and
// without the rates to such machines.
[[nodiscard]] std::vector<facts::SavedState> comparable_states(std::vector<facts::SavedState> saved,
                                                               const Hostnames& hostnames);

// The pairs whose rates may become the ones to compare with: of the first look, and slow neither
// compared with the other pairs nor with their saved rates.
[[nodiscard]] std::vector<Pair> pairs_to_save(const Results& results,
                                              std::span<const facts::SavedState> saved,
                                              std::string_view how);

using RatesByHost = std::map<std::string, std::vector<facts::SavedRate>>;

// What was measured from each host the first time, because later benches compare that.
[[nodiscard]] RatesByHost rates_by_host(std::span<const Pair> pairs, const std::string& how,
                                        const Hostnames& hostnames, double now_s);

}  // namespace muster::bench
