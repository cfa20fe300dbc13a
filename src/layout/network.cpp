#include "layout/network.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace muster::layout {
namespace {

int bits_of(Family family) {
  return family == Family::kIpv4 ? 32 : 128;
}

int system_family(Family family) {
  return family == Family::kIpv4 ? AF_INET : AF_INET6;
}

// Parses the whole text as a number from 0 to `most`.
std::optional<int> parse_number(std::string_view text, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < 0 || number > most) return std::nullopt;
  return number;
}

// Keeps the first `prefix` bits and sets the others to zero.
Ip beginning(Ip ip, int prefix) {
  for (std::size_t i = 0; i < ip.bytes.size(); ++i) {
    const int kept = std::clamp(prefix - static_cast<int>(i) * 8, 0, 8);
    ip.bytes[i] = static_cast<std::uint8_t>(ip.bytes[i] & (0xff << (8 - kept)));
  }
  return ip;
}

int equal_bits(const Ip& one, const Ip& two) {
  int equal = 0;
  for (std::size_t i = 0; i < one.bytes.size(); ++i) {
    const auto differing = static_cast<std::uint8_t>(one.bytes[i] ^ two.bytes[i]);
    equal += std::countl_zero(differing);
    if (differing != 0) break;
  }
  return std::min(equal, bits_of(one.family));
}

bool is_in(const Ip& ip, std::string_view range) {
  const auto network = parse_network(range);
  return network && contains(*network, ip);
}

// The highest address, which is the broadcast address for IPv4.
Ip end_of(const Network& network) {
  Ip last = network.base;
  for (int bit = network.prefix; bit < bits_of(last.family); ++bit) {
    auto& byte = last.bytes[static_cast<std::size_t>(bit / 8)];
    byte = static_cast<std::uint8_t>(byte | (0x80 >> (bit % 8)));
  }
  return last;
}

}  // namespace

std::size_t IpHash::operator()(const Ip& ip) const {
  constexpr std::uint64_t kPrime = 1099511628211U;  // the prime of the FNV-1a hash
  std::uint64_t hash = 14695981039346656037U + static_cast<std::uint64_t>(ip.family);
  for (const std::uint8_t byte : ip.bytes) hash = (hash ^ byte) * kPrime;
  return hash;
}

std::optional<Ip> parse_ip(std::string_view text) {
  Ip ip{.family = text.find(':') == std::string_view::npos ? Family::kIpv4 : Family::kIpv6};
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  const std::string whole(text);
  if (::inet_pton(system_family(ip.family), whole.c_str(), ip.bytes.data()) != 1) {
    return std::nullopt;
  }
  return ip;
}

std::string to_text(const Ip& ip) {
  char text[INET6_ADDRSTRLEN] = {};
  (void)::inet_ntop(system_family(ip.family), ip.bytes.data(), text, sizeof text);
  return text;
}

std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto prefix = parse_number(text.substr(slash + 1), bits_of(Family::kIpv6));
  if (!prefix) return std::nullopt;
  return network_of({.ip = std::string(text.substr(0, slash)), .prefix = *prefix});
}

std::string to_text(const Network& network) {
  return fmt::format("{}/{}", to_text(network.base), network.prefix);
}

bool is_ipv6(std::string_view text) {
  const auto ip = parse_ip(text.substr(0, text.find('/')));
  return ip && ip->family == Family::kIpv6;
}

std::optional<Network> network_of(const facts::Address& address) {
  const auto ip = parse_ip(address.ip);
  if (!ip || address.prefix < 0 || address.prefix > bits_of(ip->family)) return std::nullopt;
  return Network{.base = beginning(*ip, address.prefix), .prefix = address.prefix};
}

bool contains(const Network& network, const Ip& ip) {
  return beginning(ip, network.prefix) == network.base;
}

Network cover(std::span<const Ip> ips) {
  int prefix = bits_of(ips.front().family);
  for (const Ip& ip : ips) prefix = std::min(prefix, equal_bits(ips.front(), ip));
  return {.base = beginning(ips.front(), prefix), .prefix = prefix};
}

bool can_be_a_hosts(const Network& network, const Ip& ip) {
  if (ip.family == Family::kIpv6) return !is_in(ip, "ff00::/8") && !is_in(ip, "::/96");
  if (ip.bytes[0] >= 224 || ip.bytes[0] == 0) return false;
  if (network.prefix >= 31) return true;  // such a network has no network or broadcast address
  return ip != network.base && ip != end_of(network);
}

bool is_loopback(const Ip& ip) {
  return is_in(ip, "127.0.0.0/8") || is_in(ip, "::1/128");
}

bool is_link_local(const Ip& ip) {
  return is_in(ip, "169.254.0.0/16") || is_in(ip, "fe80::/10");
}

bool is_private(const Ip& ip) {
  constexpr std::array<std::string_view, 6> kRanges = {"10.0.0.0/8",     "172.16.0.0/12",
                                                       "192.168.0.0/16", "100.64.0.0/10",
                                                       "198.18.0.0/15",  "fc00::/7"};
  return std::any_of(kRanges.begin(), kRanges.end(),
                     [&](std::string_view range) { return is_in(ip, range); });
}

}  // namespace muster::layout
