// Deadlines: points in time at which waiting ends.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <poll.h>

namespace muster::inspect {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// The time until the deadline, never negative.
[[nodiscard]] inline std::chrono::milliseconds time_left(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return std::max(left, std::chrono::milliseconds(0));
}

[[nodiscard]] inline Deadline within(std::chrono::milliseconds most, Deadline no_later_than) {
  return std::min(Clock::now() + most, no_later_than);
}

// Like poll(2) for one descriptor. Returns false if the deadline has passed or poll fails.
[[nodiscard]] inline bool wait_for(int fd, short events, Deadline deadline) {
  while (true) {
    const auto left = time_left(deadline);
    if (left.count() == 0) return false;
    pollfd one{fd, events, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

}  // namespace muster::inspect
