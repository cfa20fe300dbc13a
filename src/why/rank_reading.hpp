// What each rank of a scene is doing by itself, before anybody asks who waits for whom. Pure.
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
  const inspect::HostView* host_view = nullptr;  // null: the host did not answer
  const inspect::RankView* view = nullptr;       // null: not seen
  const inspect::Process* main = nullptr;        // null: none is left, or not seen
  // The process that explains the activity: the main one or a descendant. May be null.
  const inspect::Process* subject = nullptr;
  StackReading stack = {};
  Activity activity = Activity::kUnseen;
  double cpu = 0;             // processors, of all its processes
  std::int64_t io_bytes = 0;  // likewise
  bool advanced = false;      // it finished collectives during the inspection
  // Nothing moved while it was watched: hardly any CPU time, and always the same place.
  bool still = false;
  // One that spins in a wait for others was in the same call, from the same place, at the beginning
  // and at the end.
  bool stays = false;
  // It does something that is no part of waiting for other ranks, even if an operation is pending:
  // an asynchronous one may be.
  bool elsewhere = false;
};

// One per rank of the scene, in the order of their numbers.
[[nodiscard]] std::vector<RankReading> read_ranks(const Scene& scene);

// It ended because the others did not come in time, or because one of them was gone.
[[nodiscard]] bool gave_up(const RankReading& rank);

// A call in which a thread may wait for another rank as well as for anything else.
[[nodiscard]] bool may_wait_for_ranks(const std::string& call);

}  // namespace muster::why
