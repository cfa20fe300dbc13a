// The wall clock, and a clock that nobody can set.
#pragma once

#include <chrono>
#include <ctime>

namespace muster::sys {

// Seconds since 1970.
[[nodiscard]] inline double unix_time() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

// Seconds since this machine was booted. Also counts the time that the machine was suspended, which
// std::chrono::steady_clock leaves out.
[[nodiscard]] inline double uptime() {
  timespec time{};
  (void)::clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace muster::sys
