// Joins an address and a port in the form that people and programs write.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// Returns "198.18.0.11:29500" or "[fd00::1]:29500".
[[nodiscard]] inline std::string endpoint_text(std::string_view address, std::string_view port) {
  const bool is_ipv6 = address.find(':') != std::string_view::npos;
  std::string text = is_ipv6 ? "[" : "";
  text += address;
  text += is_ipv6 ? "]:" : ":";
  text += port;
  return text;
}

// Turns "[fd00::1]", as written in endpoints and URLs, into "fd00::1". Returns other addresses
// unchanged.
[[nodiscard]] inline std::string_view without_brackets(std::string_view address) {
  const bool has_some = address.starts_with('[') && address.ends_with(']');
  return has_some ? address.substr(1, address.size() - 2) : address;
}

[[nodiscard]] inline std::string endpoint_text(std::string_view address, int port) {
  return endpoint_text(address, std::to_string(port));
}

}  // namespace muster
