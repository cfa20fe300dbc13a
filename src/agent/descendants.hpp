// What a program left behind: its shim is the parent of all of it.
#pragma once

#include <chrono>

#include <sys/types.h>

namespace muster::agent {

// Kills and reaps the children of this process until there are none, and so their children too,
// which become ours; gives up at the deadline. Returns how many it killed. SIGCHLD must be blocked.
[[nodiscard]] int kill_children(std::chrono::milliseconds deadline);

}  // namespace muster::agent
