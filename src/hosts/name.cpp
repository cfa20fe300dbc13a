#include "hosts/name.hpp"

#include <algorithm>
#include <string>

#include <arpa/inet.h>

namespace muster::hosts {

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && text.front() != '-' &&
         text.front() != '.' && std::all_of(text.begin(), text.end(), is_name_char);
}

bool is_ipv6(std::string_view text) {
  constexpr std::size_t kMaxZoneBytes = 15;  // longest name of a network interface
  const std::size_t percent = text.find('%');
  if (percent != std::string_view::npos) {
    const std::string_view zone = text.substr(percent + 1);
    if (zone.size() > kMaxZoneBytes || !is_name(zone)) return false;
  }
  const std::string_view address = text.substr(0, percent);
  if (address.size() >= INET6_ADDRSTRLEN || address.find('\0') != std::string_view::npos) {
    return false;
  }
  in6_addr parsed{};
  return ::inet_pton(AF_INET6, std::string(address).c_str(), &parsed) == 1;
}

bool is_user(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && text.front() != '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_name_char(c) || c == '@' || c == '+'; });
}

}  // namespace muster::hosts
