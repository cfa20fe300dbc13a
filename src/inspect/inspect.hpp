// Inspects the processes of a run's ranks on this host.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

#include "inspect/inspection.hpp"

namespace muster::inspect {

struct RankProcesses {
  int rank = 0;
  std::vector<pid_t> pids;  // the program and its descendants, parents first
};

struct Request {
  std::vector<RankProcesses> ranks;
  std::string recorders;                   // folder with the sockets of the ranks' recorders
  std::chrono::milliseconds window{1000};  // time from the first to the second look
  // The interval at which to ask the recorders, between the two looks, whether a collective is
  // running. This gives the share of time that is spent in collectives. 0: do not ask.
  std::chrono::milliseconds sample_every{0};
  // If false, inspect() only looks at states, times and counts: it starts no other program and
  // stops no process.
  bool stacks = true;
  // Whether to ask NCCL about the whole job. It is enough if one host does that.
  bool ask_nccl = true;
  std::chrono::milliseconds deadline{4000};  // time limit for everything
  // Multiplies the usual time limits for recorders, tools and the kernel. Larger in tests.
  int patience = 1;
};

// Never fails: what cannot be observed is missing from the result and named in `not_seen`. Cost: a
// few small files per process; with `stacks` also the table of sockets, and one or two processes
// per rank.
[[nodiscard]] HostView inspect(const Request& request);

}  // namespace muster::inspect
