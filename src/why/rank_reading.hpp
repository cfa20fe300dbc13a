// What each rank of a scene is doing, considered by itself. waits.hpp then finds out which ranks
// wait for which. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "why/stack_reading.hpp"
#include "why/verdict.hpp"

namespace muster::why {

// What a rank does. Only meaningful if it does not wait for other ranks.
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

// What is known about one rank. Refers to the Scene, which must outlive it.
struct RankReading {
  int rank = 0;
  std::string host = {};
  const RankState* state = nullptr;
  const inspect::HostView* host_view = nullptr;  // null if the host did not answer
  const inspect::RankView* view = nullptr;       // null if the rank was not seen
  // The main process; null if no process of the rank is left, or none was seen.
  const inspect::Process* main = nullptr;
  // The process that explains the activity: the main process or a descendant. May be null.
  const inspect::Process* subject = nullptr;
  StackReading stack = {};
  Activity activity = Activity::kUnseen;
  double cpu = 0;             // CPUs used by all its processes
  std::int64_t io_bytes = 0;  // of all its processes
  bool advanced = false;      // it completed collectives during the inspection
  // During the inspection the rank used hardly any CPU time and was always seen at the same place.
  bool still = false;
  // The rank spins in a wait for others. At the beginning and at the end of the inspection, it was
  // in the same call, made from the same place in the program.
  bool stays = false;
  // The rank does something other than wait for other ranks. An operation may be pending all the
  // same, because operations can be asynchronous.
  bool elsewhere = false;
};

// One per rank of the scene, in order.
[[nodiscard]] std::vector<RankReading> read_ranks(const Scene& scene);

// Whether the rank ended because others did not arrive in time, or because it lost its connection
// to another rank.
[[nodiscard]] bool gave_up(const RankReading& rank);

// Whether a thread in this system call may be waiting for another rank. False for calls that always
// wait for something else, such as a file or a child process.
[[nodiscard]] bool may_wait_for_ranks(const std::string& call);

}  // namespace muster::why
