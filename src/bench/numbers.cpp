#include "bench/numbers.hpp"

#include <cmath>

#include <fmt/format.h>

namespace muster::bench {
namespace {

constexpr double kBits = 8;
constexpr double kUnreal = 1e10;

}  // namespace

std::string three_digits(double value) {
  const double magnitude = std::abs(value);
  if (magnitude >= kUnreal) return fmt::format("{:.3g}", value);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  if (magnitude >= 0.9995) return fmt::format("{:.2f}", value);
  if (magnitude >= 0.09995) return fmt::format("{:.3f}", value);
  if (magnitude >= 0.009995) return fmt::format("{:.4f}", value);
  return magnitude < 0.000005 ? "0" : fmt::format("{:.5f}", value);
}

std::string short_number(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

std::string gbit(double bytes_a_second) {
  return three_digits(bytes_a_second * kBits / 1e9);
}

std::string speed(double bytes_a_second) {
  const double bits = bytes_a_second * kBits;
  if (bits >= 0.9995e9) return three_digits(bits / 1e9) + " Gbit/s";
  if (bits >= 0.9995e6) return three_digits(bits / 1e6) + " Mbit/s";
  return three_digits(bits / 1e3) + " kbit/s";
}

std::string microseconds(double seconds) {
  const double us = seconds * 1e6;
  if (us >= kUnreal) return fmt::format("{:.3g}", us);
  return fmt::format("{:.{}f}", us, us < 100 ? 2 : us < 1000 ? 1 : 0);
}

std::string duration(double seconds, const char* micro) {
  if (seconds < 0.9995e-3) return three_digits(seconds * 1e6) + " " + micro;
  if (seconds < 0.9995) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

std::string decimal_size(double bytes) {
  if (bytes >= 0.9995e9) return three_digits(bytes / 1e9) + " GB";
  if (bytes >= 0.9995e6) return three_digits(bytes / 1e6) + " MB";
  return three_digits(bytes / 1e3) + " kB";
}

std::string percent(double share) {
  const double value = share * 100;
  return fmt::format("{:.{}f} %", value, std::abs(value) < 9.95 ? 1 : 0);
}

}  // namespace muster::bench
