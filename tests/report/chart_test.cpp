#include "report/chart.hpp"

#include <algorithm>
#include <map>
#include <regex>

#include <gtest/gtest.h>

namespace muster::report {
namespace {

std::vector<std::string> texts(const Axis& axis) {
  std::vector<std::string> all;
  for (const Tick& tick : axis.ticks) all.push_back(tick.text);
  return all;
}

using Texts = std::vector<std::string>;

TEST(Chart, ALinearAxisEndsAtAWholeTick) {
  const Axis axis = linear_axis("Gbit/s", 9.3);
  EXPECT_DOUBLE_EQ(axis.low, 0);
  EXPECT_DOUBLE_EQ(axis.high, 10);
  EXPECT_EQ(texts(axis), (Texts{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(linear_axis("", 0).ticks.size(), 6U);
}

TEST(Chart, ALinearAxisMayBeginAboveZero) {
  const Axis axis = linear_axis("%", 100, 90);
  EXPECT_DOUBLE_EQ(axis.low, 90);
  EXPECT_DOUBLE_EQ(axis.high, 100);
  EXPECT_EQ(texts(axis), (Texts{"90", "92", "94", "96", "98", "100"}));
  EXPECT_EQ(texts(linear_axis("%", 100, 30)), (Texts{"40", "60", "80", "100"}));
}

TEST(Chart, ACountingAxisHasWholeTicksUpToItsEnd) {
  EXPECT_EQ(texts(counting_axis("hosts", 3)), (Texts{"0", "1", "2", "3"}));
  EXPECT_EQ(texts(counting_axis("step", 1)), (Texts{"0", "1"}));
  EXPECT_DOUBLE_EQ(counting_axis("step", 47).high, 47);
}

TEST(Chart, StackedChartsAreAPictureOfTheirOwn) {
  const Chart chart{.title = "t",
                    .x = counting_axis("step", 2),
                    .y = linear_axis("y", 1),
                    .curves = {{.name = "plain",
                                .points = {{.x = 0, .y = 0}, {.x = 1, .y = 1}, {.x = 2, .y = 1}},
                                .markers = false}}};
  const std::string svg = stacked_svg("<b>", {chart, chart});
  EXPECT_EQ(svg.find("<svg xmlns="), 0U);
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
  EXPECT_EQ(svg.find("var("), std::string::npos);
  EXPECT_EQ(svg.find("<circle"), std::string::npos);
  const std::regex line("class=\"line s0\" d=\"M[0-9.]+ [0-9.]+L[0-9.]+ [0-9.]+L[0-9.]+ [0-9.]+\"");
  EXPECT_EQ(std::distance(std::sregex_iterator(svg.begin(), svg.end(), line), {}), 2);
}

TEST(Chart, CurvesOfDifferentColoursHaveMarkersOfDifferentShapes) {
  Chart chart{.title = "t", .x = counting_axis("x", 1), .y = linear_axis("y", 1)};
  constexpr int kColours = 6;
  for (int colour = 0; colour < kColours; ++colour) {
    chart.curves.push_back({.name = "c", .points = {{.x = 1, .y = 1}}, .colour = colour});
  }
  // The markers at the points have equal coordinates, so equal shapes would give equal text.
  const std::string svg = chart_svg(chart);
  const std::regex marker("<([a-z]+) class=\"m s[0-9]\"([^>]*)>");
  std::map<std::string, int> shapes;
  for (std::sregex_iterator found(svg.begin(), svg.end(), marker), end; found != end; ++found) {
    ++shapes[found->str(1) + found->str(2)];
  }
  const auto alike = [](const auto& shape) { return shape.second > 1; };
  EXPECT_EQ(std::count_if(shapes.begin(), shapes.end(), alike), 0) << svg;
  EXPECT_EQ(shapes.size(), 2U * kColours) << "one at the point and one in the legend";
}

}  // namespace
}  // namespace muster::report
