// Draws a bench's measurements as inline SVG. The page must contain picture_style(). All texts are
// escaped.
#pragma once

#include <string>
#include <vector>

#include "bench/results.hpp"
#include "bench/series.hpp"

namespace muster::bench {

// Draws one operation with one number of ranks. `expected` is in bytes per second; 0: unknown.
// Returns an empty text if no series has a bandwidth.
[[nodiscard]] std::string bandwidth_svg(const std::vector<Series>& group, double expected);
[[nodiscard]] std::string latency_svg(const std::vector<Series>& group);

// Rows are senders and columns receivers. Suspects are outlined.
[[nodiscard]] std::string heat_map_svg(const Results& results);

// Samples per second by number of hosts, with one curve per backend.
[[nodiscard]] std::string scaling_svg(const std::string& model, const std::vector<Scaled>& all);

// Returns "#rrggbb" for a share from 0 (dark) to 1 (bright).
[[nodiscard]] std::string heat_colour(double share);

}  // namespace muster::bench
