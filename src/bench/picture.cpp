#include "bench/picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/size_text.hpp"
#include "bench/numbers.hpp"
#include "report/chart.hpp"

namespace muster::bench {
namespace {

using report::Axis;
using report::Chart;
using report::ChartPoint;
using report::Curve;
using report::linear_axis;

constexpr int kGrey = 5;  // index of the colour for values that were not measured

double log_size(const Measurement& m) {
  return std::log2(static_cast<double>(m.bytes));
}

// Returns an axis with ticks at both ends and between them, usually at 32, 1K, 32K, 1M, ...
Axis size_axis(const std::vector<Series>& group) {
  double low = 62, high = 0;
  for (const Series& series : group) {
    for (const Measurement* m : series.points) {
      if (m->bytes <= 0) continue;
      low = std::min(low, log_size(*m));
      high = std::max(high, log_size(*m));
    }
  }
  Axis axis{.name = "bytes", .low = low, .high = high};
  const int each = high - low <= 10 ? 1 : high - low <= 40 ? 5 : 10;
  const double apart = (high - low) / 14;  // labels that are closer than this overlap
  const auto add = [&axis](double at) {
    axis.ticks.push_back({.at = at, .text = short_size(std::llround(std::exp2(at)))});
  };
  add(low);
  for (int power = 0; power < 62; power += each) {
    if (power > low + apart && power < high - apart) add(power);
  }
  if (high > low) add(high);
  return axis;
}

struct Unit {
  double scale;
  const char* name;
};

Unit bandwidth_unit(double highest) {
  return highest * 8 >= 1e9 ? Unit{8 / 1e9, "Gbit/s"} : Unit{8 / 1e6, "Mbit/s"};
}

// Returns the bandwidth that corresponds to this time. The stored one corresponds to the mean time.
double busbw_at(const Measurement& m, double seconds) {
  return seconds > 0 ? m.busbw * m.mean_s / seconds : m.busbw;
}

Curve bandwidth_curve(const Series& series, const std::string& name, double scale) {
  Curve curve{.name = name};
  for (const Measurement* m : series.points) {
    if (m->bytes <= 0) continue;
    ChartPoint point{.x = log_size(*m), .y = m->busbw * scale};
    point.title = fmt::format("{}, {}: {}", name, size_text(m->bytes), speed(m->busbw));
    if (m->times.p25 > 0 && m->times.p75 > 0) {
      point.spread.emplace(busbw_at(*m, m->times.p75) * scale, busbw_at(*m, m->times.p25) * scale);
    }
    curve.points.push_back(std::move(point));
  }
  return curve;
}

Curve latency_curve(const Series& series, const std::string& name) {
  Curve curve{.name = name};
  for (const Measurement* m : series.points) {
    if (m->bytes <= 0 || m->times.median <= 0) continue;
    curve.points.push_back(
        {.x = log_size(*m),
         .y = std::log10(m->times.median),
         .title = fmt::format("{}, {}: median {}, p99 {}", name, size_text(m->bytes),
                              duration(m->times.median, kMicro), duration(m->times.p99, kMicro))});
    if (m->times.p99 > 0) curve.thin.emplace_back(log_size(*m), std::log10(m->times.p99));
  }
  return curve;
}

std::string tick_duration(double seconds) {
  if (seconds < 0.9e-6) return fmt::format("{:.3g} ns", seconds * 1e9);
  if (seconds < 0.9e-3) return fmt::format("{:.3g} {}", seconds * 1e6, kMicro);
  if (seconds < 0.9) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

// Returns an axis that contains all curves and goes from one power of ten to another. If it spans
// few powers, it also has ticks at 2 and 5 times each power.
Axis time_axis(const std::vector<Curve>& curves) {
  double low = 9, high = -12;
  for (const Curve& curve : curves) {
    for (const ChartPoint& point : curve.points) {
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
    for (const auto& [x, y] : curve.thin) high = std::max(high, y);
  }
  low = std::floor(std::max(low, -12.0));
  high = std::max(low + 1, std::ceil(std::min(high, 9.0)));
  Axis axis{.name = "time of one operation: median, thin line p99", .low = low, .high = high};
  for (double power = low; power <= high; power += 1) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && (high - low > 2 || power == high)) continue;
      axis.ticks.push_back({.at = power + std::log10(factor),
                            .text = tick_duration(factor * std::pow(10.0, power))});
    }
  }
  return axis;
}

// Each backend has the same colour in every picture, unless another curve of this picture already
// has it.
int colour_for(const std::string& backend, const std::vector<Curve>& curves) {
  constexpr std::array<std::string_view, kGrey - 1> kKnown = {"bare", "mpi", "gloo", "nccl"};
  const auto known = std::find(kKnown.begin(), kKnown.end(), backend);
  const int wanted = static_cast<int>(known - kKnown.begin());
  for (int next = 0; next < kGrey; ++next) {
    const int colour = (wanted + next) % kGrey;
    const bool taken = std::any_of(curves.begin(), curves.end(),
                                   [colour](const Curve& c) { return c.colour == colour; });
    if (!taken) return colour;
  }
  return wanted;
}

std::string group_name(const std::vector<Series>& group) {
  return fmt::format("{} with {} ranks", group[0].operation, group[0].ranks);
}

}  // namespace

std::string bandwidth_svg(const std::vector<Series>& group, double expected) {
  double highest = expected;
  bool any = false;
  for (const Series& series : group) {
    for (const Measurement* m : series.points) {
      any |= m->bytes > 0;
      highest = std::max({highest, m->busbw, busbw_at(*m, m->times.p25)});
    }
  }
  if (!any) return "";
  const Unit unit = bandwidth_unit(highest);
  Chart chart{.title = group_name(group) + ": bus bandwidth over size",
              .x = size_axis(group),
              .y = linear_axis(fmt::format("busbw, {}", unit.name), highest * unit.scale)};
  for (const Series& series : group) {
    Curve curve = bandwidth_curve(series, label(series, group), unit.scale);
    if (curve.points.empty()) continue;
    curve.colour = colour_for(series.backend, chart.curves);
    chart.curves.push_back(std::move(curve));
  }
  if (expected > 0) {
    chart.curves.push_back({.name = "expected " + speed(expected),
                            .points = {{.x = chart.x.low, .y = expected * unit.scale},
                                       {.x = chart.x.high, .y = expected * unit.scale}},
                            .dashed = true,
                            .colour = kGrey});
  }
  return chart_svg(chart);
}

std::string latency_svg(const std::vector<Series>& group) {
  Chart chart{.title = group_name(group) + ": time over size, median and p99",
              .x = size_axis(group)};
  for (const Series& series : group) {
    Curve curve = latency_curve(series, label(series, group));
    if (curve.points.empty()) continue;
    curve.colour = colour_for(series.backend, chart.curves);
    chart.curves.push_back(std::move(curve));
  }
  if (chart.curves.empty()) return "";
  chart.y = time_axis(chart.curves);
  return chart_svg(chart);
}

std::string scaling_svg(const std::string& model, const std::vector<Scaled>& all) {
  Chart chart{.title = model + ": samples per second by number of hosts"};
  double highest = 0, most = 1, ideal = 0;
  for (const Scaled& one : all) {
    if (one.training->model != model || one.training->hosts <= 0) continue;
    const double hosts = one.training->hosts;
    auto curve = std::find_if(chart.curves.begin(), chart.curves.end(),
                              [&one](const Curve& c) { return c.name == one.training->backend; });
    if (curve == chart.curves.end()) {
      chart.curves.push_back({.name = one.training->backend,
                              .colour = colour_for(one.training->backend, chart.curves)});
      curve = chart.curves.end() - 1;
    }
    curve->points.push_back(
        {.x = hosts,
         .y = one.samples_a_second,
         .title = fmt::format("{}, {} hosts: {} samples/s, efficiency {}", one.training->backend,
                              one.training->hosts, three_digits(one.samples_a_second),
                              percent(one.efficiency))});
    if (one.efficiency > 0) ideal = std::max(ideal, one.samples_a_second / hosts / one.efficiency);
    most = std::max(most, hosts);
    highest = std::max(highest, one.samples_a_second);
  }
  for (Curve& curve : chart.curves) {
    std::stable_sort(curve.points.begin(), curve.points.end(),
                     [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
  }
  chart.curves.push_back({.name = "no loss to communication",
                          .points = {{.x = 0, .y = 0}, {.x = most, .y = ideal * most}},
                          .dashed = true,
                          .colour = kGrey});
  chart.x = report::counting_axis("hosts", most);
  chart.y = linear_axis("samples per second", std::max(highest, ideal * most));
  return chart_svg(chart);
}

}  // namespace muster::bench
