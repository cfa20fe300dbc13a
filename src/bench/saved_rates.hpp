// Links compared with the rates that `muster bench pairs --save` kept: where all links became
// slower alike, no comparison among them shows it. Pure.
#pragma once

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

// The states of the pairs' hosts with what was measured the first time, for that is what later
// benches compare with. Hosts without a state get one.
[[nodiscard]] std::vector<facts::SavedState> with_rates(std::vector<facts::SavedState> states,
                                                        std::span<const Pair> pairs,
                                                        const std::string& how, double now_s);

}  // namespace muster::bench
