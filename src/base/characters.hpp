// Characters of UTF-8 text, and which of them are harmless to show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster {

constexpr std::uint32_t kNoCharacter = 0xFFFFFFFF;

struct Character {
  std::uint32_t code = kNoCharacter;
  std::size_t bytes = 1;  // of the text
};

// The character at the start of `text`, which is not empty; kNoCharacter if that is not UTF-8.
[[nodiscard]] Character first_character(std::string_view text);

// How many bytes the character has that begins with this byte; 0 if none does.
[[nodiscard]] std::size_t bytes_announced(char first);

// False for control characters (newline and tab are among them), for those that turn the direction
// of the text around them, and for what is no character at all.
[[nodiscard]] bool is_graphic(std::uint32_t code);

}  // namespace muster
