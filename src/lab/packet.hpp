// The parts of an Ethernet frame that a firewall examines. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::lab {

struct Packet {
  std::uint32_t from = 0;  // IPv4 address; 0 if the packet is IPv6
  std::uint32_t to = 0;
  std::size_t bytes = 0;               // including headers, as the MTU counts
  std::optional<int> opens_port = {};  // the port, if this packet opens a TCP connection
};

// Returns nothing if the frame contains neither IPv4 nor IPv6.
[[nodiscard]] std::optional<Packet> parse_packet(std::string_view frame);

}  // namespace muster::lab
