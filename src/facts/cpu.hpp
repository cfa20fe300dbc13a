// Processors: what they can do, and how many of them are left to us.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "facts/facts.hpp"

namespace muster::facts {

// Model and extensions out of the start of a /proc/cpuinfo; all processors of a host are alike.
void read_cpuinfo(std::string_view text, Cpu& cpu);

// Physical cores below /sys/devices/system; 0: not shown.
[[nodiscard]] int count_cores(const std::string& root);

// NUMA nodes below /sys/devices/system; 1 where the kernel shows none.
[[nodiscard]] int count_numa_nodes(const std::string& root);

// Processors' worth of time that the control groups grant, v1 or v2, the smallest of the levels;
// nothing: no quota. `membership` is the text of /proc/self/cgroup, `root` is /sys/fs/cgroup.
[[nodiscard]] std::optional<double> read_cpu_quota(std::string_view membership,
                                                   const std::string& root);

[[nodiscard]] Cpu read_cpu();

}  // namespace muster::facts
