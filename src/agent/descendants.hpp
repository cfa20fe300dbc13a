// Kills the processes that a program left behind. The calling process must be their parent or
// subreaper.
#pragma once

#include <chrono>

#include <sys/types.h>

namespace muster::agent {

// Kills and reaps the children of this process until none are left. Their own children become ours
// and are killed too. Gives up at the deadline. Returns how many processes it killed. SIGCHLD must
// be blocked.
[[nodiscard]] int kill_children(std::chrono::milliseconds deadline);

}  // namespace muster::agent
