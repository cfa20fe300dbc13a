// IP addresses as RDMA ports have them: a GID is 16 bytes, with IPv4 mapped (::ffff:a.b.c.d).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "facts/facts.hpp"

namespace muster::layout {

using IpBytes = std::array<unsigned char, 16>;

// Of a GID or an address: "0000:0000:0000:0000:0000:ffff:c612:000b", "198.18.0.11", "fd00::1".
[[nodiscard]] std::optional<IpBytes> ip_bytes(std::string_view text);
[[nodiscard]] bool is_ipv4(const IpBytes& ip);
[[nodiscard]] std::string ip_text(const IpBytes& ip);

// A network that an address is in.
struct IpRange {
  IpBytes base{};
  int bits = 0;  // of the 16 bytes that are fixed: 96 more than the prefix of an IPv4 network

  [[nodiscard]] bool contains(const IpBytes& ip) const;
};

// `prefix` as people write it: 24 in "198.18.0.0/24".
[[nodiscard]] IpRange range_of(const IpBytes& ip, int prefix);
[[nodiscard]] std::string to_text(const IpRange& range);  // "198.18.0.0/24"
// The smallest that contains them all. `addresses` is not empty, and all are of one family.
[[nodiscard]] IpRange smallest_range(std::span<const IpBytes> addresses);

// An address that RoCE v2 can send from: not a loopback address, and for IPv6 not link-local.
// Cables between two machines often have IPv4 link-local addresses.
[[nodiscard]] bool is_roce_v2_address(const facts::Gid& gid, const IpBytes& ip);

}  // namespace muster::layout
