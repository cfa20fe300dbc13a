#include "programs/train/plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace muster::programs {
namespace {

constexpr double kWidth = 760, kPanel = 220, kLeft = 70, kRight = 20, kTop = 50, kGap = 50;
constexpr double kHeight = kTop + 2 * kPanel + 2 * kGap;

std::string decimal(double value, const char* format = "%.1f") {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else if (static_cast<unsigned char>(c) >= ' ') {
      safe += c;
    }
  }
  return safe;
}

std::string text_at(double x, double y, const std::string& anchor, const std::string& text) {
  return "<text x=\"" + decimal(x) + "\" y=\"" + decimal(y) + "\" text-anchor=\"" + anchor + "\">" +
         escaped(text) + "</text>\n";
}

// 1, 2 or 5 times a power of ten, so that about `count` of them fill the span.
double tick(double span, int count) {
  const double rough = span / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

struct Axes {
  double top;        // of the panel
  double steps;      // at the right end
  double low, high;  // values at bottom and top

  [[nodiscard]] double x(double step) const {
    return kLeft + (kWidth - kLeft - kRight) * step / steps;
  }
  [[nodiscard]] double y(double value) const {
    return top + kPanel * (1 - (value - low) / (high - low));
  }
};

std::string line(double x1, double y1, double x2, double y2, const std::string& colour) {
  return "<line x1=\"" + decimal(x1) + "\" y1=\"" + decimal(y1) + "\" x2=\"" + decimal(x2) +
         "\" y2=\"" + decimal(y2) + "\" stroke=\"" + colour + "\"/>\n";
}

std::string grid(const Axes& axes, const std::string& name) {
  std::string svg = text_at(kLeft, axes.top - 8, "start", name);
  const double each = tick(axes.high - axes.low, 5);
  for (double value = std::ceil(axes.low / each) * each; value <= axes.high + each / 1000;
       value += each) {
    svg += line(kLeft, axes.y(value), kWidth - kRight, axes.y(value), "#ddd");
    svg += text_at(kLeft - 6, axes.y(value) + 4, "end", decimal(value, "%.4g"));
  }
  const double steps = std::max(1.0, tick(axes.steps, 8));
  for (double step = 0; step <= axes.steps; step += steps) {
    svg += line(axes.x(step), axes.top + kPanel, axes.x(step), axes.top + kPanel + 4, "#444");
    svg += text_at(axes.x(step), axes.top + kPanel + 18, "middle", decimal(step, "%.0f"));
  }
  return svg + line(kLeft, axes.top + kPanel, kWidth - kRight, axes.top + kPanel, "#444");
}

std::string curve(const Axes& axes, const std::vector<Point>& points, const std::string& colour) {
  std::string svg =
      "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + colour + "\" points=\"";
  for (const Point& point : points) {
    svg += decimal(axes.x(point.step)) + "," + decimal(axes.y(point.value)) + " ";
  }
  svg += "\"/>\n";
  if (points.size() > 40) return svg;
  for (const Point& point : points) {
    svg += "<circle r=\"2.5\" fill=\"" + colour + "\" cx=\"" + decimal(axes.x(point.step)) +
           "\" cy=\"" + decimal(axes.y(point.value)) + "\"/>\n";
  }
  return svg;
}

}  // namespace

std::string plot_svg(const std::string& title, const Curves& curves) {
  double steps = 1, highest = 0, lowest = 1;
  for (const Point& point : curves.loss) {
    steps = std::max(steps, point.step);
    highest = std::max(highest, point.value);
  }
  for (const Point& point : curves.accuracy) {
    steps = std::max(steps, point.step);
    lowest = std::min(lowest, point.value);
  }
  if (highest <= 0) highest = 1;
  const Axes loss{kTop, steps, 0, highest * 1.05};
  // From the tenth below the worst: good models differ in the last per cent.
  const double floor_percent = std::max(0.0, std::floor(lowest * 10) * 10);
  const Axes accuracy{kTop + kPanel + kGap, steps, std::min(floor_percent, 90.0), 100};
  std::vector<Point> percent = curves.accuracy;
  for (Point& point : percent) point.value *= 100;
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + decimal(kWidth, "%.0f") +
         " " + decimal(kHeight, "%.0f") + "\" font-family=\"sans-serif\" font-size=\"12\">\n" +
         "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
         text_at(kWidth / 2, 22, "middle", title) + grid(loss, "loss, of each batch") +
         curve(loss, curves.loss, "#1f5fa8") + grid(accuracy, "accuracy, held-out images, %") +
         curve(accuracy, percent, "#b5452c") + text_at(kWidth / 2, kHeight - 12, "middle", "step") +
         "</svg>\n";
}

}  // namespace muster::programs
