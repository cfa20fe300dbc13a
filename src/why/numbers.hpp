// Limits for the numbers that hosts tell. A host may tell anything; its JSON may even hold 1e300.
#pragma once

#include <algorithm>
#include <cstdint>

#include "inspect/inspection.hpp"

namespace muster::why {

// NaN counts as the lowest: it must never be sorted or turned into a whole number.
[[nodiscard]] inline double limited(double value, double lowest, double highest) {
  return value >= lowest ? std::min(value, highest) : lowest;
}

// How often the same data, or the request for a connection, was sent.
[[nodiscard]] inline std::int64_t times_sent(const inspect::Connection& connection) {
  return std::int64_t{std::max(connection.retransmits, 0)} + 1;
}

}  // namespace muster::why
