// An address and a port, as people and programs write them.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// "198.18.0.11:29500", "[fd00::1]:29500"
[[nodiscard]] inline std::string endpoint_text(std::string_view address, std::string_view port) {
  const bool is_ipv6 = address.find(':') != std::string_view::npos;
  std::string text = is_ipv6 ? "[" : "";
  text += address;
  text += is_ipv6 ? "]:" : ":";
  text += port;
  return text;
}

[[nodiscard]] inline std::string endpoint_text(std::string_view address, int port) {
  return endpoint_text(address, std::to_string(port));
}

}  // namespace muster
