// Returns a plot of loss and accuracy over the steps, as SVG. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::programs {

struct Point {
  double step = 0;
  double value = 0;
};

struct Curves {
  std::vector<Point> loss;
  std::vector<Point> accuracy;  // from 0 to 1
};

[[nodiscard]] std::string plot_svg(const std::string& title, const Curves& curves);

}  // namespace muster::programs
