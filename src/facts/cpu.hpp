// CPUs: what they can do, and how many of them this process may use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "facts/facts.hpp"

namespace muster::facts {

// Reads model and extensions from the start of a /proc/cpuinfo, because all CPUs of a host are
// alike.
void read_cpuinfo(std::string_view text, Cpu& cpu);

// Physical cores according to a folder such as /sys/devices/system; 0 if unknown.
[[nodiscard]] int count_cores(const std::string& root);

// NUMA nodes according to a folder such as /sys/devices/system; 1 if the kernel shows none.
[[nodiscard]] int count_numa_nodes(const std::string& root);

// Returns the CPU quota of the control groups (v1 or v2), in CPUs: 1.5 is the time of one and a
// half CPUs. The smallest quota on all levels counts. Nothing if there is no quota. `membership` is
// the text of /proc/self/cgroup, and `root` is /sys/fs/cgroup.
[[nodiscard]] std::optional<double> read_cpu_quota(std::string_view membership,
                                                   const std::string& root);

[[nodiscard]] Cpu read_cpu();

}  // namespace muster::facts
