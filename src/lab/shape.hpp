// The properties of a cable, and how users write them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.hpp"

namespace muster::lab {

struct Shape {
  std::int64_t bits_per_second = 0;  // in each direction; 0: unlimited
  std::int64_t delay_us = 0;         // added to the round trip, one half in each direction
  double loss = 0;                   // share of frames lost in each direction, 0 to 1
  bool only_ssh = false;             // new TCP connections to other ports of the host are dropped
  std::size_t largest = 0;           // larger IP packets are dropped; 0: none are
  std::uint32_t lossy_peer = 0;      // IPv4 address; if not 0, only frames from and to it are lost

  friend bool operator==(const Shape&, const Shape&) = default;
};

// Parses "1gbit", "100mbit", "64kbit"; "2ms", "500us", "1s"; "1%", "0.1%".
[[nodiscard]] Result<std::int64_t> parse_rate(std::string_view text);
[[nodiscard]] Result<std::int64_t> parse_delay(std::string_view text);
[[nodiscard]] Result<double> parse_loss(std::string_view text);

}  // namespace muster::lab
