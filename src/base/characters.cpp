#include "base/characters.hpp"

namespace muster {

std::size_t bytes_announced(char first) {
  const auto lead = static_cast<unsigned char>(first);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  return lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
}

Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = bytes_announced(text[0]);
  if (bytes == 1) return {.code = lead};
  if (bytes == 0 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return {};
    code = code << 6 | (byte & 0x3FU);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[bytes] || code > 0x10FFFF) return {};
  return {.code = code, .bytes = bytes};
}

bool is_graphic(std::uint32_t code) {
  if (code == kNoCharacter || code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool none = (code & 0xFFFE) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF);
  const bool turns = code == 0x061C || code == 0x200E || code == 0x200F ||
                     (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return !surrogate && !none && !turns;
}

}  // namespace muster
