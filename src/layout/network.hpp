// IP addresses and networks: what two hosts must share to meet.
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

enum class Family { kIpv4, kIpv6 };  // the order in which they are preferred

struct Ip {
  Family family = Family::kIpv4;
  std::array<std::uint8_t, 16> bytes = {};  // in network order; of IPv4 the first four, then zeros

  friend auto operator<=>(const Ip&, const Ip&) = default;
};

struct IpHash {
  [[nodiscard]] std::size_t operator()(const Ip& ip) const;
};

struct Network {
  Ip base;         // bits below the prefix are 0
  int prefix = 0;  // 0 to 32, or to 128

  friend auto operator<=>(const Network&, const Network&) = default;
};

// "198.18.0.11", "fd00::1"; nothing for a name and for an address with a zone.
[[nodiscard]] std::optional<Ip> parse_ip(std::string_view text);
[[nodiscard]] std::string to_text(const Ip& ip);
[[nodiscard]] std::optional<Network> parse_network(std::string_view text);  // "198.18.0.0/16"
[[nodiscard]] std::string to_text(const Network& network);
[[nodiscard]] bool is_ipv6(std::string_view text);  // an address or a network

// Nothing for a prefix that makes no sense.
[[nodiscard]] std::optional<Network> network_of(const facts::Address& address);
[[nodiscard]] bool contains(const Network& network, const Ip& ip);

// The smallest network that holds them all. `ips` is not empty, and all are of one family.
[[nodiscard]] Network cover(std::span<const Ip> ips);

// False for multicast, and for IPv4 addresses of the network itself and for its broadcast address.
[[nodiscard]] bool can_be_a_hosts(const Network& network, const Ip& ip);
[[nodiscard]] bool is_loopback(const Ip& ip);
[[nodiscard]] bool is_link_local(const Ip& ip);
// Ranges that nobody routes between sites: RFC 1918, 100.64/10, 198.18/15; fc00::/7.
[[nodiscard]] bool is_private(const Ip& ip);

}  // namespace muster::layout
