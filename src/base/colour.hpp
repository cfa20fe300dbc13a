// Colours of text on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// The values are those of the terminal's control sequences.
enum class Colour { kRed = 31, kYellow = 33, kMagenta = 35, kCyan = 36 };

// The text in this colour if `is_on`, otherwise unchanged.
[[nodiscard]] inline std::string painted(std::string_view text, Colour colour, bool is_on) {
  if (!is_on) return std::string(text);
  return "\x1b[" + std::to_string(static_cast<int>(colour)) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace muster
