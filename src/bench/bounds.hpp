#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "base/json_fields.hpp"

namespace muster::bench {

// Finds a number that no cluster can have. Without this check, charts and sums could overflow.
class Bounds {
 public:
  void operator()(const char* name, double& value) {
    constexpr double kLeast = 1e-12;
    constexpr double kMost = 1e15;
    if (value != 0 && (value < kLeast || value > kMost)) odd_ = name;
  }
  template <class T>
    requires std::is_integral_v<T>
  void operator()(const char* name, T& value) {
    constexpr std::int64_t kMost = 100'000'000'000'000;
    if (static_cast<std::int64_t>(value) < -1 || static_cast<std::int64_t>(value) > kMost) {
      odd_ = name;
    }
  }
  template <class T>
  void operator()(const char* name, std::vector<T>& items) {
    for (T& item : items) (*this)(name, item);
  }
  void operator()(const char*, std::string&) {}
  void lines(const char*, std::string&) {}
  template <class T>
    requires std::is_enum_v<T>
  void operator()(const char*, T&) {}
  template <class T>
    requires std::is_class_v<T>
  void operator()(const char*, T& value) {
    fields(*this, value);
  }

  [[nodiscard]] const std::string& odd() const { return odd_; }

 private:
  std::string odd_;  // name of a field that is out of bounds; empty: none
};

// Like parse_fields, but also rejects numbers that are out of bounds.
template <class T>
[[nodiscard]] Result<T> parse_possible(const std::string& json, const std::string& refusal) {
  MUSTER_TRY(T value, parse_fields<T>(json, refusal));
  Bounds bounds;
  fields(bounds, value);
  if (bounds.odd().empty()) return value;
  return unexpected(
      Error{.what = fmt::format("{}: the value of {} is impossible", refusal, bounds.odd())});
}

}  // namespace muster::bench
