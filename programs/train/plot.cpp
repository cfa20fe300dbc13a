#include "programs/train/plot.hpp"

#include <algorithm>
#include <cmath>

#include "report/chart.hpp"

namespace muster::programs {
namespace {

report::Curve curve_of(const std::string& name, const std::vector<Point>& points, double scale) {
  constexpr std::size_t kMostMarkers = 40;
  report::Curve curve{.name = name, .markers = points.size() <= kMostMarkers};
  for (const Point& point : points) {
    curve.points.push_back({.x = point.step, .y = point.value * scale});
  }
  return curve;
}

double last_step(const std::vector<Point>& points) {
  double last = 1;
  for (const Point& point : points) last = std::max(last, point.step);
  return last;
}

}  // namespace

std::string plot_svg(const std::string& title, const Curves& curves) {
  double highest_loss = 0, lowest_accuracy = 1;
  for (const Point& point : curves.loss) highest_loss = std::max(highest_loss, point.value);
  for (const Point& point : curves.accuracy) {
    lowest_accuracy = std::min(lowest_accuracy, point.value);
  }
  const double steps = std::max(last_step(curves.loss), last_step(curves.accuracy));
  report::Chart loss{.title = "loss",
                     .x = report::counting_axis("step", steps),
                     .y = report::linear_axis("loss", highest_loss),
                     .curves = {curve_of("each batch", curves.loss, 1)}};
  // Start the axis at the multiple of ten per cent below the worst value, because good models
  // differ only in the last per cent.
  const double lowest_percent = std::clamp(std::floor(lowest_accuracy * 10) * 10, 0.0, 90.0);
  report::Chart accuracy{.title = "accuracy",
                         .x = loss.x,
                         .y = report::linear_axis("accuracy, %", 100, lowest_percent),
                         .curves = {curve_of("held-out images", curves.accuracy, 100)}};
  accuracy.curves[0].colour = 1;
  return report::stacked_svg(title, {std::move(loss), std::move(accuracy)});
}

}  // namespace muster::programs
