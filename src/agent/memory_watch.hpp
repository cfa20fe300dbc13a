// Whether a rank failed because its host ran out of memory. The kernel counts the processes that it
// kills for this reason, but does not say which they were.
#pragma once

#include <chrono>
#include <cstdint>

#include "agent/host_system.hpp"

namespace muster::agent {

class MemoryWatch {
 public:
  explicit MemoryWatch(HostSystem& system) : system_(system), seen_(system.memory_kills()) {}

  // Must be called regularly.
  void look();

  // Whether a recent kill can explain a failure that happens now. Each kill explains one failure.
  [[nodiscard]] bool explains_a_failure();

 private:
  // Generous, because a process with much memory takes long to end.
  static constexpr std::chrono::seconds kRecent{30};

  HostSystem& system_;
  std::int64_t seen_;
  std::int64_t unexplained_ = 0;
  HostSystem::Clock::time_point last_kill_;
};

}  // namespace muster::agent
