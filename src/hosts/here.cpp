#include "hosts/here.hpp"

#include <algorithm>

#include <arpa/inet.h>

#include "base/lower_case.hpp"

namespace muster::hosts {
namespace {

std::string short_name(std::string_view name) {
  return lower_case(name.substr(0, name.find('.')));
}

// Returns the bytes of an address without its zone; empty if the text is not an address.
std::string address_bytes(std::string_view text) {
  const std::string plain(text.substr(0, text.find('%')));
  std::string bytes(sizeof(in_addr), '\0');
  if (::inet_pton(AF_INET, plain.c_str(), bytes.data()) == 1) return bytes;
  bytes.resize(sizeof(in6_addr));
  return ::inet_pton(AF_INET6, plain.c_str(), bytes.data()) == 1 ? bytes : std::string();
}

bool is_loopback(const std::string& bytes) {
  constexpr char kIpv4Loopback = 127;
  if (bytes.size() == sizeof(in_addr)) return bytes.front() == kIpv4Loopback;
  return bytes == address_bytes("::1");
}

}  // namespace

bool is_here(std::string_view host, const Here& here) {
  if (const std::string wanted = address_bytes(host); !wanted.empty()) {
    return is_loopback(wanted) ||
           std::any_of(here.addresses.begin(), here.addresses.end(),
                       [&](const std::string& own) { return address_bytes(own) == wanted; });
  }
  const std::string name = lower_case(host);
  if (name == "localhost") return true;
  return !here.name.empty() && (name == lower_case(here.name) || name == short_name(here.name));
}

bool may_be_here(std::string_view host, const Here& here) {
  return address_bytes(host).empty() && host.find('.') != std::string_view::npos &&
         !here.name.empty() && short_name(host) == short_name(here.name);
}

}  // namespace muster::hosts
