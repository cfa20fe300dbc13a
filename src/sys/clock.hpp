// The wall clock.
#pragma once

#include <chrono>

namespace muster::sys {

// Seconds since 1970.
[[nodiscard]] inline double unix_time() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

}  // namespace muster::sys
