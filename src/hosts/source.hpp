// Text that is being parsed and where it comes from, so that every error can name a position.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster::hosts {

// The most hosts that one expression or file may name. More are probably a typing mistake or an
// attack.
constexpr std::size_t kMaxHosts = 1'000'000;

struct Source {
  std::string_view text;          // not owned
  std::string name = "hosts";     // name of the file or flag that contains it
  int line = 1;                   // line in which `text` begins
  int column = 1;                 // column in which `text` begins, in bytes
  std::size_t limit = kMaxHosts;  // the most hosts that it may name

  // Makes an Error of code kUsage with the position of byte `offset`. Cost: one pass over the text.
  [[nodiscard]] Error refuse(std::size_t offset, std::string what, std::string hint = {}) const;
};

// Removes the byte order mark that some editors put before UTF-8.
[[nodiscard]] Source without_utf8_mark(Source source);

// Returns how messages show a byte of untrusted input: 'x', or "byte 0x07".
[[nodiscard]] std::string describe(char byte);

// Returns at most 60 bytes of `text`, printable and in quotes.
[[nodiscard]] std::string excerpt(std::string_view text);

}  // namespace muster::hosts
