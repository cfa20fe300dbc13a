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

// "0-55,112-167". An Error: this is no such list, or a number is beyond what a mask can hold.
[[nodiscard]] Result<cpu_set_t> parse_cpu_list(std::string_view text);

// Binds this process, and so the program that it starts, to the CPUs of the rank's GPU that it may
// use. Returns what to tell the user if it could not; empty: it is bound.
[[nodiscard]] std::string bind_near_gpu(std::span<const facts::Gpu> gpus,
                                        const rankenv::Environment& environment, int local_rank);

}  // namespace muster::agent
