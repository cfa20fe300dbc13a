// Compares links with the rates that `muster bench pairs --save` saved. This finds what comparing
// the links with each other cannot: that all of them became slower. Pure.
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

// One direction of a link that is now below kSlowShare of its saved rate.
struct SlowedLink {
  std::string from;
  std::string to;
  double now = 0;  // rate in bytes per second
  double then = 0;
  double saved_s = 0;  // Unix time at which `then` was saved
};

// Returns the slowed links, beginning with the one that lost the largest share of its rate. Uses
// only saved rates whose `how` is the same.
[[nodiscard]] std::vector<SlowedLink> find_slowed(std::span<const Pair> pairs,
                                                  std::span<const facts::SavedState> saved,
                                                  std::string_view how);

// Returns the links to measure a second time, each alone.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> to_measure_again(
    std::span<const SlowedLink> slowed);

// Returns the verdict after the second look; `pairs` must hold both looks. Nothing if none of these
// links has a saved rate.
[[nodiscard]] std::optional<Judgement> judge_slowed(std::span<const Pair> pairs,
                                                    std::span<const facts::SavedState> saved,
                                                    std::string_view how);

// The hostname that each host reports. A missing or empty one is unknown.
using Hostnames = std::map<std::string, std::string>;

// Drops states that cannot be used or that were saved for a machine with another hostname, and
// rates that were measured to such machines.
[[nodiscard]] std::vector<facts::SavedState> comparable_states(std::vector<facts::SavedState> saved,
                                                               const Hostnames& hostnames);

// Returns the pairs of the first look whose rates may be saved for later comparisons: those that
// are slow neither compared with the other pairs nor with their saved rates.
[[nodiscard]] std::vector<Pair> pairs_to_save(const Results& results,
                                              std::span<const facts::SavedState> saved,
                                              std::string_view how);

using RatesByHost = std::map<std::string, std::vector<facts::SavedRate>>;

// Returns the rates from each host. Uses only the first look, because later benches will compare
// their first look with these rates.
[[nodiscard]] RatesByHost rates_by_host(std::span<const Pair> pairs, const std::string& how,
                                        const Hostnames& hostnames, double now_s);

}  // namespace muster::bench
