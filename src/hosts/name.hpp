// Which texts are valid as names of hosts and users. The rules are strict, because names become
// arguments and file names.
#pragma once

#include <string_view>

namespace muster::hosts {

constexpr std::size_t kMaxNameBytes = 253;  // the limit of DNS

[[nodiscard]] constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// True for letters, digits, '.', '_' and '-'.
[[nodiscard]] constexpr bool is_name_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
         c == '-';
}

// True for a host name or IPv4 address. Such a name has only characters that is_name_char accepts,
// and does not start with '-' (ssh would take it for an option) or '.' (".." is a directory).
[[nodiscard]] bool is_name(std::string_view text);

// True for an IPv6 address without brackets, with or without a zone, such as fe80::1%eth0.
[[nodiscard]] bool is_ipv6(std::string_view text);

// True for a user that can follow ssh's -l: user or user@realm.
[[nodiscard]] bool is_user(std::string_view text);

}  // namespace muster::hosts
