// IPv4 networks: what two hosts must share to meet.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "facts/facts.hpp"

namespace muster::layout {

struct Network {
  std::uint32_t base = 0;  // in host order; bits below the prefix are 0
  int prefix = 0;          // 0 to 32

  friend auto operator<=>(const Network&, const Network&) = default;
};

[[nodiscard]] std::optional<std::uint32_t> parse_ipv4(std::string_view text);
[[nodiscard]] std::string ipv4_text(std::uint32_t address);
[[nodiscard]] std::optional<Network> parse_network(std::string_view text);  // "198.18.0.0/16"
[[nodiscard]] std::string to_text(const Network& network);

// Nothing for IPv6 and for a prefix that makes no sense.
[[nodiscard]] std::optional<Network> network_of(const facts::Address& address);
[[nodiscard]] bool contains(const Network& network, std::uint32_t address);

// The smallest network that holds them all. `addresses` is not empty.
[[nodiscard]] Network cover(std::span<const std::uint32_t> addresses);

// False for multicast, for the address of the network itself and for its broadcast address.
[[nodiscard]] bool can_be_a_hosts(const Network& network, std::uint32_t address);
[[nodiscard]] bool is_loopback(std::uint32_t address);
[[nodiscard]] bool is_link_local(std::uint32_t address);
// Ranges that nobody routes between sites: RFC 1918, 100.64/10, 198.18/15.
[[nodiscard]] bool is_private(std::uint32_t address);

}  // namespace muster::layout
