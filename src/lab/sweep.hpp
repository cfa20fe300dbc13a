// Finds and ends the processes of a lab.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/error.hpp"

namespace muster::lab {

// SIGKILL to every process in whose environment `entry` ("NAME=value") stands, ourselves excepted,
// again until none is left; returns when they are gone. The first process of a host takes all
// others of the host along. Cost: one small read for every process of the machine, a few times.
[[nodiscard]] Result<void> sweep(const std::string& entry);

// SIGKILL to one process, and returns when it is gone.
[[nodiscard]] Result<void> end_process(pid_t pid);

}  // namespace muster::lab
