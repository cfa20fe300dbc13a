// Whether a rank failed because its host ran out of memory. The kernel counts the processes that it
// kills for that, but does not tell us which they were.
#pragma once

#include <chrono>
#include <cstdint>

#include "agent/host_system.hpp"

namespace muster::agent {

class MemoryWatch {
 public:
  explicit MemoryWatch(HostSystem& system) : system_(system), seen_(system.memory_kills()) {}

  // To be called regularly.
  void look();

  // Whether a failure now can be due to a recent kill. Each kill explains one failure.
  [[nodiscard]] bool explains_a_failure();

 private:
  static constexpr std::chrono::seconds kRecent{30};  // a process with much memory ends slowly

  HostSystem& system_;
  std::int64_t seen_;
  std::int64_t unexplained_ = 0;
  HostSystem::Clock::time_point last_kill_;
};

}  // namespace muster::agent
