// What a bench measured as inline SVG, to stand in a page with picture_style(). All texts escaped.
#pragma once

#include <string>
#include <vector>

#include "bench/results.hpp"
#include "bench/series.hpp"

namespace muster::bench {

// Of one operation and number of ranks. `expected` in bytes a second; 0: nothing is. Empty where
// no series has a bandwidth.
[[nodiscard]] std::string bandwidth_svg(const std::vector<Series>& group, double expected);
[[nodiscard]] std::string latency_svg(const std::vector<Series>& group);

// Rows send, columns receive; suspects outlined.
[[nodiscard]] std::string heat_map_svg(const Results& results);

// Samples a second over hosts, one curve a backend.
[[nodiscard]] std::string scaling_svg(const std::string& model, const std::vector<Scaled>& all);

// "#rrggbb" for 0 (dark) to 1 (bright).
[[nodiscard]] std::string heat_colour(double share);

}  // namespace muster::bench
