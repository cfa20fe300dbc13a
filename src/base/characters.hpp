// The characters of UTF-8 text, and which of them are safe to print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster {

constexpr std::uint32_t kNoCharacter = 0xFFFFFFFF;

struct Character {
  std::uint32_t code = kNoCharacter;
  std::size_t bytes = 1;  // length in the text
};

// The character at the start of `text`, which must not be empty; kNoCharacter if it is not UTF-8.
[[nodiscard]] Character first_character(std::string_view text);

// How many bytes a character has that begins with this byte; 0 if no character does.
[[nodiscard]] std::size_t bytes_announced(char first);

// Returns false for control characters (including newline and tab), for characters that change the
// direction of the surrounding text, and for codes that are not characters, such as kNoCharacter.
[[nodiscard]] bool is_graphic(std::uint32_t code);

}  // namespace muster
