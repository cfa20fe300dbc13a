#include "lab/shape.hpp"

#include <charconv>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

namespace muster::lab {
namespace {

using Unit = std::pair<std::string_view, double>;

// Parses a non-negative number followed directly by one of the units.
Result<double> parse_quantity(std::string_view text, std::initializer_list<Unit> units,
                              std::string_view what, std::string_view example) {
  double number = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const auto& [name, factor] : units) {
    if (bad == std::errc() && number >= 0 && number < 1e12 && unit == name) return number * factor;
  }
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = fmt::format("'{}' is not a {}", text, what),
                          .hint = fmt::format("for example {}", example)});
}

}  // namespace

Result<std::int64_t> parse_rate(std::string_view text) {
  MUSTER_TRY(const double rate, parse_quantity(text, {{"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}},
                                               "rate", "100mbit or 1gbit"));
  return static_cast<std::int64_t>(rate);
}

Result<std::int64_t> parse_delay(std::string_view text) {
  MUSTER_TRY(const double delay,
             parse_quantity(text, {{"us", 1}, {"ms", 1e3}, {"s", 1e6}}, "delay", "500us or 2ms"));
  return static_cast<std::int64_t>(delay);
}

Result<double> parse_loss(std::string_view text) {
  MUSTER_TRY(const double loss, parse_quantity(text, {{"%", 0.01}}, "loss", "1%"));
  if (loss <= 1) return loss;
  return unexpected(Error{.code = ErrorCode::kUsage, .what = "more than 100% cannot be lost"});
}

}  // namespace muster::lab
