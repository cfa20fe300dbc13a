#include "report/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "report/markup.hpp"

namespace muster::report {
namespace {

constexpr double kWidth = 560, kPlotHeight = 270, kLeft = 62, kRight = 24, kBottom = 50;
constexpr double kLegendRow = 22, kLetter = 7.2;  // px; kLetter: the width of most letters at 13 px
constexpr std::size_t kLegendLetters = 40;
constexpr double kTitleRow = 34;
constexpr int kColours = 6;
using Colours = std::array<const char*, kColours>;

// Colours after Okabe and Ito, which people with red-green colour blindness can tell apart.
constexpr Colours kLight = {"#0072b2", "#c4570a", "#008a65", "#a8488a", "#8a6d00", "#444c56"};
constexpr Colours kDark = {"#56b4e9", "#f0883e", "#2ec4a0", "#e09ac8", "#e3c34a", "#b1bac4"};

constexpr const char* kShapes = R"(svg{display:block;width:100%;height:auto;max-width:640px}
svg text{font-size:13px;fill:currentColor;font-variant-numeric:tabular-nums}
svg .s0{--c:var(--s0)}svg .s1{--c:var(--s1)}svg .s2{--c:var(--s2)}
svg .s3{--c:var(--s3)}svg .s4{--c:var(--s4)}svg .s5{--c:var(--s5)}
svg .line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}
svg .thin{fill:none;stroke:var(--c);stroke-width:1;opacity:.75}
svg .dash{fill:none;stroke:var(--c);stroke-width:1.6;stroke-dasharray:7 5}
svg .m{fill:var(--c);stroke:var(--card);stroke-width:1}
svg .band{fill:var(--c);opacity:.18}
svg .grid{stroke:currentColor;opacity:.13}
svg .axis{fill:none;stroke:currentColor;opacity:.55}
svg .gap{stroke:var(--card);stroke-width:2}
svg .cell{font-size:12px;text-anchor:middle}
svg .mark{fill:none;stroke:var(--outline)}
svg .unsure{stroke-dasharray:6 4}
svg .bad{font-weight:700;fill:var(--outline)}
)";

std::string variables(const Colours& colours) {
  std::string css;
  for (std::size_t i = 0; i < colours.size(); ++i) css += fmt::format("--s{}:{};", i, colours[i]);
  return css;
}

std::string plain_style() {
  std::string css =
      "text{font:13px sans-serif;fill:#1f2328}.line,.thin,.dash{fill:none;stroke-linejoin:round}"
      ".line{stroke-width:2}.dash{stroke-width:1.6;stroke-dasharray:7 5}.m{stroke:#fff}"
      ".band{opacity:.18}.grid{stroke:#000;opacity:.13}.axis{fill:none;stroke:#000;opacity:.55}";
  for (std::size_t i = 0; i < kLight.size(); ++i) {
    css +=
        fmt::format(".line.s{0},.thin.s{0},.dash.s{0}{{stroke:{1}}}.m.s{0},.band.s{0}{{fill:{1}}}",
                    i, kLight[i]);
  }
  return css;
}

struct Frame {
  const Axis& x_axis;
  const Axis& y_axis;
  double top;

  [[nodiscard]] double x(double value) const {
    return kLeft + (kWidth - kLeft - kRight) * share(x_axis, value);
  }
  [[nodiscard]] double y(double value) const {
    return top + kPlotHeight * (1 - share(y_axis, value));
  }
  static double share(const Axis& axis, double value) {
    const double span = axis.high - axis.low;
    return span > 0 ? std::clamp((value - axis.low) / span, 0.0, 1.0) : 0.5;
  }
};

// Draws a marker. Each colour has its own shape, so that curves also differ in black-and-white
// prints.
std::string marker(int colour, double x, double y, const std::string& title) {
  const std::string inside = title.empty() ? "" : "<title>" + escaped(title) + "</title>";
  const std::string look = fmt::format("class=\"m s{}\"", colour % kColours);
  const auto drawn = [&](double up, std::string_view lines) {
    return fmt::format("<path {} d=\"M{:.1f} {:.1f}{}z\">{}</path>", look, x, y - up, lines,
                       inside);
  };
  switch (colour % kColours) {
    case 0:
      return fmt::format("<circle {} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.4\">{}</circle>", look, x, y,
                         inside);
    case 1:
      return fmt::format(
          "<rect {} x=\"{:.1f}\" y=\"{:.1f}\" width=\"6.2\" height=\"6.2\">{}</rect>", look,
          x - 3.1, y - 3.1, inside);
    case 2:  // a triangle
      return drawn(4.6, "l4.3 7.4h-8.6");
    case 3:  // a diamond
      return drawn(4.5, "l4.5 4.5l-4.5 4.5l-4.5 -4.5");
    case 4:  // a triangle that points down
      return drawn(-4.6, "l4.3 -7.4h-8.6");
    default:  // a plus sign
      return drawn(4.5, "h1.6v2.9h2.9v3.2h-2.9v2.9h-3.2v-2.9h-2.9v-3.2h2.9v-2.9");
  }
}

std::string label_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                     escaped(text));
}

std::string path_of(const Frame& frame, const std::vector<std::pair<double, double>>& points) {
  std::string path;
  for (const auto& [x, y] : points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", frame.x(x), frame.y(y));
  }
  return path;
}

std::string band_of(const Frame& frame, const Curve& curve) {
  std::vector<std::pair<double, double>> around, below;
  for (const ChartPoint& point : curve.points) {
    if (!point.spread) continue;
    around.emplace_back(point.x, point.spread->second);
    below.emplace_back(point.x, point.spread->first);
  }
  around.insert(around.end(), below.rbegin(), below.rend());
  if (around.size() < 4) return "";
  return fmt::format("<path class=\"band s{}\" d=\"{}z\"/>\n", curve.colour % kColours,
                     path_of(frame, around));
}

std::string lines_of(const Frame& frame, const Curve& curve) {
  std::vector<std::pair<double, double>> points;
  for (const ChartPoint& point : curve.points) points.emplace_back(point.x, point.y);
  const int colour = curve.colour % kColours;
  std::string svg;
  if (curve.thin.size() > 1) {
    svg += fmt::format("<path class=\"thin s{}\" d=\"{}\"/>\n", colour, path_of(frame, curve.thin));
  }
  svg += fmt::format("<path class=\"{} s{}\" d=\"{}\"/>\n", curve.dashed ? "dash" : "line", colour,
                     path_of(frame, points));
  if (curve.dashed || !curve.markers) return svg;
  for (const ChartPoint& point : curve.points) {
    svg += marker(curve.colour, frame.x(point.x), frame.y(point.y), point.title) + "\n";
  }
  return svg;
}

std::string grid_of(const Frame& frame) {
  const double bottom = frame.top + kPlotHeight;
  std::string svg;
  for (const Tick& tick : frame.y_axis.ticks) {
    const double y = frame.y(tick.at);
    svg += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}H{}\"/>", kLeft, y, kWidth - kRight);
    svg += label_at(kLeft - 9, y + 4.5, "end", tick.text) + "\n";
  }
  for (const Tick& tick : frame.x_axis.ticks) {
    const double x = frame.x(tick.at);
    svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}v5\"/>", x, bottom);
    svg += label_at(x, bottom + 20, "middle", tick.text) + "\n";
  }
  svg += fmt::format("<path class=\"axis\" d=\"M{} {:.1f}H{}\"/>", kLeft, bottom, kWidth - kRight);
  svg += label_at((kLeft + kWidth - kRight) / 2, bottom + 42, "middle", frame.x_axis.name);
  return svg + label_at(kLeft - 56, frame.top - 12, "start", frame.y_axis.name) + "\n";
}

// Draws the legend, in rows from the top. Sets `height` to its height.
std::string legend_of(const Chart& chart, double& height) {
  std::string svg;
  double x = kLeft, y = 16;
  for (const Curve& curve : chart.curves) {
    const std::string name = shortened(curve.name, kLegendLetters);
    const double width = 34 + kLetter * static_cast<double>(std::min(name.size(), kLegendLetters));
    if (x > kLeft && x + width > kWidth) {
      x = kLeft;
      y += kLegendRow;
    }
    svg += fmt::format("<path class=\"{} s{}\" d=\"M{:.1f} {:.1f}h24\"/>",
                       curve.dashed ? "dash" : "line", curve.colour % kColours, x, y - 4.5);
    if (!curve.dashed && curve.markers) svg += marker(curve.colour, x + 12, y - 4.5, "");
    svg += label_at(x + 30, y, "start", name) + "\n";
    x += width + 18;
  }
  height = y + kLegendRow;
  return svg;
}

struct Drawn {
  std::string body;
  double height;
};

Drawn drawn(const Chart& chart) {
  double top = 0;
  std::string body = legend_of(chart, top);
  const Frame frame{chart.x, chart.y, top + 14};
  body += grid_of(frame);
  for (const Curve& curve : chart.curves) body += band_of(frame, curve);
  for (const Curve& curve : chart.curves) body += lines_of(frame, curve);
  return {std::move(body), frame.top + kPlotHeight + kBottom};
}

}  // namespace

std::string chart_svg(const Chart& chart) {
  const auto [body, height] = drawn(chart);
  return fmt::format(
             "<svg role=\"img\" viewBox=\"0 0 {} {:.0f}\" aria-label=\"{}\">\n<title>{}</title>\n",
             kWidth, height, escaped(chart.title), escaped(chart.title)) +
         body + "</svg>\n";
}

std::string stacked_svg(const std::string& title, const std::vector<Chart>& charts) {
  double height = kTitleRow;
  std::string body = label_at(kWidth / 2, height - 12, "middle", title) + "\n";
  for (const Chart& chart : charts) {
    const Drawn one = drawn(chart);
    body += fmt::format("<g transform=\"translate(0 {:.0f})\">\n<title>{}</title>\n{}</g>\n",
                        height, escaped(chart.title), one.body);
    height += one.height;
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {} {:.0f}\">\n"
             "<title>{}</title>\n<style>{}</style>\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
             kWidth, height, escaped(title), plain_style()) +
         body + "</svg>\n";
}

Axis linear_axis(std::string name, double highest, double lowest) {
  if (!(highest > lowest)) highest = lowest + 1;
  const double rough = (highest - lowest) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double each = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough) each = factor * power;
  }
  const int first = static_cast<int>(std::ceil(lowest / each - 1e-9));
  const int last = static_cast<int>(std::ceil(highest / each - 1e-9));
  Axis axis{.name = std::move(name), .low = lowest, .high = last * each};
  for (int i = first; i <= last; ++i) {
    axis.ticks.push_back({.at = i * each, .text = fmt::format("{:.4g}", i * each)});
  }
  return axis;
}

Axis counting_axis(std::string name, double most) {
  Axis axis = linear_axis(std::move(name), most);
  axis.high = most;
  std::erase_if(axis.ticks, [most](const Tick& tick) {
    return tick.at > most || tick.at != std::floor(tick.at);
  });
  return axis;
}

std::string picture_style() {
  return fmt::format(
      "\n:root{{{}--outline:#d1002f}}\n"
      "@media (prefers-color-scheme:dark){{\n:root{{{}--outline:#ff4d6d}}}}\n{}",
      variables(kLight), variables(kDark), kShapes);
}

}  // namespace muster::report
