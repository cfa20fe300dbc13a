// IP addresses and networks. Two hosts need a common network to connect.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "facts/facts.hpp"

namespace muster::layout {

enum class Family { kIpv4, kIpv6 };  // in order of preference

struct Ip {
  Family family = Family::kIpv4;
  // In network order. IPv4 uses the first four bytes; the others are 0.
  std::array<std::uint8_t, 16> bytes = {};

  friend auto operator<=>(const Ip&, const Ip&) = default;
};

struct IpHash {
  [[nodiscard]] std::size_t operator()(const Ip& ip) const;
};

struct Network {
  Ip base;         // the bits after the prefix are 0
  int prefix = 0;  // 0 to 32, or to 128

  friend auto operator<=>(const Network&, const Network&) = default;
};

// Parses "198.18.0.11" or "fd00::1". Returns nothing for a name or an address with a zone.
[[nodiscard]] std::optional<Ip> parse_ip(std::string_view text);
[[nodiscard]] std::string to_text(const Ip& ip);
// Parses a network such as "198.18.0.0/16".
[[nodiscard]] std::optional<Network> parse_network(std::string_view text);
[[nodiscard]] std::string to_text(const Network& network);
[[nodiscard]] bool is_ipv6(std::string_view text);  // an IPv6 address or network

// Returns nothing if the prefix is invalid.
[[nodiscard]] std::optional<Network> network_of(const facts::Address& address);
[[nodiscard]] bool contains(const Network& network, const Ip& ip);

// The smallest network that contains all of `ips`, which must not be empty and must be of one
// family.
[[nodiscard]] Network cover(std::span<const Ip> ips);

// Whether a host in `network` can have this address. False for multicast addresses, and for the
// network and broadcast addresses of IPv4.
[[nodiscard]] bool can_be_a_hosts(const Network& network, const Ip& ip);
[[nodiscard]] bool is_loopback(const Ip& ip);
[[nodiscard]] bool is_link_local(const Ip& ip);
// Whether the address is in a range that is not routed between sites: RFC 1918, 100.64/10,
// 198.18/15 or fc00::/7.
[[nodiscard]] bool is_private(const Ip& ip);

}  // namespace muster::layout
