#include "base/size_text.hpp"

#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace muster {
namespace {

std::string binary_size(std::int64_t bytes, const std::array<const char*, 6>& units) {
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g}{}", value, units.at(unit));
}

}  // namespace

std::string size_text(std::int64_t bytes) {
  return binary_size(bytes, {" B", " KiB", " MiB", " GiB", " TiB", " PiB"});
}

std::string short_size(std::int64_t bytes) {
  return binary_size(bytes, {"", "K", "M", "G", "T", "P"});
}

std::string memory_text(std::int64_t bytes) {
  constexpr double kMiB = 1 << 20;
  constexpr double kGiB = 1 << 30;
  const auto value = static_cast<double>(bytes);
  return value < kGiB ? fmt::format("{:.0f} MiB", value / kMiB)
                      : fmt::format("{:.1f} GiB", value / kGiB);
}

std::string file_size_text(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  double size = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  constexpr std::string_view kUnits = "kMGT";
  for (; size >= 999.95 && unit + 1 < kUnits.size(); ++unit) size /= 1000;
  return fmt::format("{:.1f} {}B", size, kUnits[unit]);
}

}  // namespace muster
