// What must hold whatever the input; a breach ends the process, which libFuzzer reports.
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
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// The same with several lines.
inline void require_printable(std::string_view text) {
  const auto good = [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); };
  require(std::all_of(text.begin(), text.end(), good), "hostile bytes do not reach a terminal");
}

// One of several parsers, with what must hold for it.
using Check = void (*)(std::string_view text);

// The first byte of the input chooses the parser: 'a' the first, 'b' the second.
inline int run_chosen(std::span<const Check> checks, const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t choice = static_cast<std::uint8_t>(data[0] - 'a') % checks.size();
  checks[choice]({reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}

}  // namespace muster::fuzz
