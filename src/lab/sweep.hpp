// Finds and ends the processes of a lab.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"

namespace muster::lab {

// The processes in whose environment `entry` ("NAME=value") stands, ourselves excepted.
// Cost: one small read for every process of the machine.
[[nodiscard]] std::vector<pid_t> marked_processes(const std::string& entry);

// SIGKILL to all of them, again until none is left; returns when they are gone. The first process
// of a host takes all others of the host along.
[[nodiscard]] Result<void> sweep(const std::string& entry);

// SIGKILL to one process, and returns when it is gone.
[[nodiscard]] Result<void> end_process(pid_t pid);

}  // namespace muster::lab
