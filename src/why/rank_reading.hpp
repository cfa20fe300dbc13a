// What each rank of a scene is doing by itself, before judging which ranks wait for which. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "why/stack_reading.hpp"
#include "why/verdict.hpp"

namespace muster::why {

// Only meaningful for a rank that does not wait for other ranks.
enum class Activity {
  kNotStarted,
  kEnded,
  kUnseen,  // nothing is known: its host did not answer, or the inspection did not find the rank
  kStopped,
  kLeaving,  // its program has ended, but not its process
  kUninterruptible,
  kInput,
  kLock,
  kLoops,
  kWorks,  // computes, reads or writes
  kIdle,
};

// Refers to the Scene, which must outlive it.
struct RankReading {
  int rank = 0;
  std::string host = {};
  const RankState* state = nullptr;
  const inspect::HostView* host_view = nullptr;  // null if the host did not answer
  const inspect::RankView* view = nullptr;       // null if the rank was not seen
  // Null if no process of the rank is left or was seen.
  const inspect::Process* main = nullptr;
  // The process that explains the activity: the main process or a descendant. May be null.
  const inspect::Process* subject = nullptr;
  StackReading stack = {};
  Activity activity = Activity::kUnseen;
  double cpu = 0;             // CPUs used by all its processes
  std::int64_t io_bytes = 0;  // of all its processes
  bool advanced = false;      // it completed collectives during the inspection
  // Nothing moved during the inspection: hardly any CPU time, and always the same place.
  bool still = false;
  // A rank that spins in a wait for others was in the same call from the same place at the
  // beginning and at the end.
  bool stays = false;
  // It does something that is not part of waiting for other ranks, even if an operation is pending,
  // since that one may be asynchronous.
  bool elsewhere = false;
};

// One per rank of the scene, in order.
[[nodiscard]] std::vector<RankReading> read_ranks(const Scene& scene);

// Whether it ended because others did not arrive in time, or because it lost the connection to one.
[[nodiscard]] bool gave_up(const RankReading& rank);

// Whether a thread in this call may be waiting for another rank, or for anything else.
[[nodiscard]] bool may_wait_for_ranks(const std::string& call);

}  // namespace muster::why
