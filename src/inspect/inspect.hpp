// Looks into the processes of a run's ranks on this host.
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
  std::string recorders;                   // the folder with the sockets of the ranks' recorders
  std::chrono::milliseconds window{1000};  // between the first and the second look
  // Looks at the recorders this often, for shares of time; 0: only at the beginning and the end.
  std::chrono::milliseconds sample_every{0};
  // False: a glance at states, times and counts, which starts no other program, stops no process
  // and leaves out all else.
  bool stacks = true;
  bool ask_nccl = true;                      // about the whole job, which one host can do for all
  std::chrono::milliseconds deadline{4000};  // for everything
  int patience = 1;  // times the usual one with recorders, tools and the kernel; more in tests
};

// Never fails: what cannot be seen is missing from the result and named in `not_seen`.
// Cost: a few small files per process; with stacks also the table of sockets and one or two
// processes per rank.
[[nodiscard]] HostView inspect(const Request& request);

}  // namespace muster::inspect
