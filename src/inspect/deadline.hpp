// Points in time after which nothing more is waited for.
#pragma once

#include <algorithm>
#include <chrono>

namespace muster::inspect {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// Not negative.
[[nodiscard]] inline std::chrono::milliseconds time_left(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return std::max(left, std::chrono::milliseconds(0));
}

[[nodiscard]] inline Deadline within(std::chrono::milliseconds most, Deadline no_later_than) {
  return std::min(Clock::now() + most, no_later_than);
}

}  // namespace muster::inspect
