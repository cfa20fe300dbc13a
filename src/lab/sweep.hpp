// Finds and ends the processes of a lab.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/error.hpp"

namespace muster::lab {

// Sends SIGKILL to every process whose environment contains `entry` ("NAME=value"), except this
// process, until none is left, and returns when all are gone. When the first process of a host
// dies, the kernel ends all others of that host. Cost: one small read per process of the machine, a
// few times.
[[nodiscard]] Result<void> sweep(const std::string& entry);

// Kills one process and returns when it is gone.
[[nodiscard]] Result<void> end_process(pid_t pid);

}  // namespace muster::lab
