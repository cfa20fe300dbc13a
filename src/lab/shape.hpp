// How a cable behaves, as people write it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.hpp"

namespace muster::lab {

struct Shape {
  std::int64_t bits_per_second = 0;  // each way; 0: as fast as it goes
  std::int64_t delay_us = 0;         // added to the round trip, half of it each way
  double loss = 0;                   // share of frames lost, each way, 0 to 1
  bool only_ssh = false;             // new TCP connections to other ports of the host are dropped
  std::size_t largest = 0;           // IP packets of more bytes vanish; 0: none do
  std::uint32_t lossy_peer = 0;      // IPv4 address whose frames alone may be lost; 0: all

  friend bool operator==(const Shape&, const Shape&) = default;
};

// "1gbit" "100mbit" "64kbit"; "2ms" "500us" "1s"; "1%" "0.1%".
[[nodiscard]] Result<std::int64_t> parse_rate(std::string_view text);
[[nodiscard]] Result<std::int64_t> parse_delay(std::string_view text);
[[nodiscard]] Result<double> parse_loss(std::string_view text);

}  // namespace muster::lab
