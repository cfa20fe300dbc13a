// Binds a rank to the CPUs near its GPU.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <sched.h>

#include "base/error.hpp"
#include "facts/gpu.hpp"
#include "rankenv/rank.hpp"

namespace muster::agent {

// Parses a list such as "0-55,112-167". Fails if the text is not such a list, or if a number is too
// large for a CPU mask.
[[nodiscard]] Result<cpu_set_t> parse_cpu_list(std::string_view text);

// Binds this process to the CPUs near the rank's GPU, as far as its affinity mask allows them. The
// program that the process starts inherits the binding. Returns an empty text on success, otherwise
// a message for the user.
[[nodiscard]] std::string bind_near_gpu(std::span<const facts::Gpu> gpus,
                                        const rankenv::Environment& environment, int local_rank);

}  // namespace muster::agent
