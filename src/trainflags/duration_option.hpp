// Flags that take a duration, for every command: 90, 30s, 5m, 2h, 30d.
#pragma once

#include <array>
#include <charconv>
#include <string>

#include <CLI/CLI.hpp>

#include "base/duration.hpp"

namespace muster::trainflags {

inline constexpr double kForever = 1e9;  // seconds

// Makes `option`, whose value is in seconds, accept every form that parse_duration knows, from
// `least` to `most` seconds. Help shows the value as SECONDS.
inline CLI::Option* takes_duration(CLI::Option* option, double least, double most = kForever) {
  const auto text = [](double seconds) {
    std::array<char, 512> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), seconds,
                                   std::chars_format::fixed);
    return std::string(digits.data(), end.ptr);
  };
  const auto to_seconds = [least, most, text](std::string& given) -> std::string {
    const auto seconds = parse_duration(given);
    if (!seconds) {
      return "'" + given + "' is not a length of time; write 90 (seconds), 30s, 5m, 2h or 30d";
    }
    if (*seconds < least) return given + " is too short; the least is " + text(least) + "s";
    if (*seconds > most) return given + " is too long; the most is " + text(most) + "s";
    given = text(*seconds);
    return {};
  };
  return option->transform(CLI::Validator(to_seconds, ""))->type_name("SECONDS");
}

}  // namespace muster::trainflags
