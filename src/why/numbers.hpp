// Limits for numbers from hosts. A host may send anything; its JSON may even contain 1e300.
#pragma once

#include <algorithm>
#include <cstdint>

#include "inspect/inspection.hpp"

namespace muster::why {

// NaN becomes the lowest value, because it must not be sorted or converted to an integer.
[[nodiscard]] inline double limited(double value, double lowest, double highest) {
  return value >= lowest ? std::min(value, highest) : lowest;
}

// How often the same data, or the request for a connection, was sent.
[[nodiscard]] inline std::int64_t times_sent(const inspect::Connection& connection) {
  return std::int64_t{std::max(connection.retransmits, 0)} + 1;
}

}  // namespace muster::why
