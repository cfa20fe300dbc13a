// Conditions that must hold for every input. A violation ends the process, which libFuzzer reports.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace muster::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

[[nodiscard]] inline bool is_printable(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool is_control = byte < 0x20 || byte == 0x7F || (byte == 0xC2 && next < 0xA0);
    const bool is_no_utf8 = byte >= 0xC0 && (next & 0xC0) != 0x80;
    const bool is_alone = byte >= 0x80 && byte < 0xC0 && (i == 0 || (text[i - 1] & 0x80) == 0);
    if (is_control || is_no_utf8 || is_alone) return false;
  }
  return true;
}

// Requires that every line of the text is printable.
inline void require_printable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    require(is_printable(text.substr(0, end)), "hostile bytes do not reach a terminal");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Runs one of several parsers and checks its result.
using Check = void (*)(std::string_view text);

// The first byte of the input selects the parser: 'a' the first, 'b' the second.
inline int run_chosen(std::span<const Check> checks, const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t choice = static_cast<std::uint8_t>(data[0] - 'a') % checks.size();
  checks[choice]({reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}

}  // namespace muster::fuzz
