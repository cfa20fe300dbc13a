// Text that is being parsed and where it stands, so that every refusal names its place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster::hosts {

// The most hosts one expression or file may name; beyond it a typo or an attack is more likely
// than a cluster.
constexpr std::size_t kMaxHosts = 1'000'000;

struct Source {
  std::string_view text;          // not owned
  std::string name = "hosts";     // the file, or the flag that gave it
  int line = 1;                   // where the first byte of `text` stands in it
  int column = 1;                 // likewise, in bytes
  std::size_t limit = kMaxHosts;  // hosts that may come out of it

  // An Error of code kUsage that names the place of byte `offset`. Cost: one pass over the text.
  [[nodiscard]] Error refuse(std::size_t offset, std::string what, std::string hint = {}) const;
};

// The source without the mark that some editors put before UTF-8.
[[nodiscard]] Source without_utf8_mark(Source source);

// How a message shows a byte of hostile input: 'x', or "byte 0x07".
[[nodiscard]] std::string describe(char byte);

// At most 60 bytes of `text` in quotes, printable.
[[nodiscard]] std::string excerpt(std::string_view text);

}  // namespace muster::hosts
