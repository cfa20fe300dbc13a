// What may be a host's or a user's name. Names reach argv and file names, hence the strictness.
#pragma once

#include <string_view>

namespace muster::hosts {

constexpr std::size_t kMaxNameBytes = 253;  // DNS allows no longer one

[[nodiscard]] constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Letters, digits, '.', '_' and '-'.
[[nodiscard]] constexpr bool is_name_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
         c == '-';
}

// A host name or IPv4 address: is_name_char throughout, not starting with '-' (an option to ssh)
// or '.' (".." is a folder).
[[nodiscard]] bool is_name(std::string_view text);

// An IPv6 address without brackets, with or without a zone: fe80::1%eth0.
[[nodiscard]] bool is_ipv6(std::string_view text);

// A user that may stand after ssh's -l: user, user@realm.
[[nodiscard]] bool is_user(std::string_view text);

}  // namespace muster::hosts
