// The parts of an Ethernet frame that a firewall looks at. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::lab {

struct Packet {
  std::uint32_t from = 0;  // IPv4 addresses; 0: it carries IPv6
  std::uint32_t to = 0;
  std::size_t bytes = 0;               // with its headers, as an MTU counts
  std::optional<int> opens_port = {};  // if it asks for a new TCP connection: the port
};

// Nothing if the frame carries neither IPv4 nor IPv6.
[[nodiscard]] std::optional<Packet> parse_packet(std::string_view frame);

}  // namespace muster::lab
