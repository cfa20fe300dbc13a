// Durations as people write them. Header-only and without {fmt}, so that muster-train can use it
// too.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>

namespace muster {

// Parses "90", "0.5", "30s", "5m", "2h", "1h30m" or "30d" into seconds. Units must go from large to
// small. Returns nothing for any other text.
[[nodiscard]] inline std::optional<double> parse_duration(std::string_view text) {
  double total = 0;
  double last_unit = 1e9;
  while (true) {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (parsed.ec != std::errc() || !std::isfinite(number) || std::signbit(number)) return {};
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    if (text.empty() && last_unit == 1e9) return number;  // a number alone is seconds
    double unit = 0;
    if (text.starts_with('d')) unit = 86400;
    if (text.starts_with('h')) unit = 3600;
    if (text.starts_with('m')) unit = 60;
    if (text.starts_with('s')) unit = 1;
    if (unit == 0 || unit >= last_unit) return {};
    total += number * unit;
    last_unit = unit;
    text.remove_prefix(1);
    if (text.empty()) return std::round(total * 1000) / 1000;  // 1.1h is 3960 s
  }
}

}  // namespace muster
