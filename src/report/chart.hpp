// Draws curves on two axes as SVG. The axes are linear: for a logarithmic scale, the caller passes
// logarithms and sets the ticks.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster::report {

struct Tick {
  double at = 0;
  std::string text;
};

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::string title = {};                                // the tooltip
  std::optional<std::pair<double, double>> spread = {};  // low and high
};

struct Curve {
  std::string name;
  std::vector<ChartPoint> points = {};
  std::vector<std::pair<double, double>> thin = {};  // a second, thinner line in the same colour
  bool dashed = false;                               // for comparison; without markers
  bool markers = true;                               // one at each point
  int colour = 0;
};

struct Axis {
  std::string name;
  double low = 0;
  double high = 1;
  std::vector<Tick> ticks = {};
};

struct Chart {
  std::string title;  // for screen readers
  Axis x;
  Axis y;
  std::vector<Curve> curves = {};
};

// Returns an SVG for a page that includes picture_style().
[[nodiscard]] std::string chart_svg(const Chart& chart);

// Returns a complete SVG file with the charts one below the other. It uses plain colours, because
// many viewers do not support CSS variables.
[[nodiscard]] std::string stacked_svg(const std::string& title, const std::vector<Chart>& charts);

// Returns an axis from `lowest` to the first tick at or above `highest`. The ticks are 1, 2 or 5
// times a power of ten apart.
[[nodiscard]] Axis linear_axis(std::string name, double highest, double lowest = 0);

// Returns an axis from 0 to exactly `most`, with ticks at whole numbers only.
[[nodiscard]] Axis counting_axis(std::string name, double most);

// Returns the style sheet for chart_svg and heat_map_svg, for light and dark colour schemes.
[[nodiscard]] std::string picture_style();

}  // namespace muster::report
