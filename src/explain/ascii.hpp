// Tests for letters and digits that do not depend on the locale.
#pragma once

namespace muster::explain {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace muster::explain
