// Curves on two axes as SVG. Knows nothing of benches: whoever makes a Chart has put its values on
// linear axes (taken their logarithms) and says where the ticks are.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster::bench {

struct Tick {
  double at = 0;
  std::string text;
};

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::string title = {};                                // shown by a pointer that rests on it
  std::optional<std::pair<double, double>> spread = {};  // low and high
};

struct Curve {
  std::string name;
  std::vector<ChartPoint> points = {};
  std::vector<std::pair<double, double>> thin = {};  // a second line, of the same colour
  bool dashed = false;                               // a line without points, for comparison
  int colour = 0;
};

struct Axis {
  std::string name;
  double low = 0;
  double high = 1;
  std::vector<Tick> ticks = {};
};

struct Chart {
  std::string title;  // for those who do not see it
  Axis x;
  Axis y;
  std::vector<Curve> curves = {};
};

[[nodiscard]] std::string chart_svg(const Chart& chart);

// Ticks at 1, 2 or 5 times a power of ten, from 0 to a whole one at or above `highest`.
[[nodiscard]] Axis linear_axis(std::string name, double highest);

// Colours and lines of chart_svg and heat_map_svg, for the page's <style>; both schemes.
[[nodiscard]] const char* picture_style();

}  // namespace muster::bench
