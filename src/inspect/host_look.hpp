// The state of the host on which ranks run: addresses, load, disks, network ports.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "inspect/deadline.hpp"
#include "inspect/inspection.hpp"

namespace muster::inspect {

// The host's addresses, without loopback and link-local ones.
[[nodiscard]] std::vector<std::string> host_addresses();

// Returns the load average of the last minute from the text of /proc/loadavg.
[[nodiscard]] double parse_load(std::string_view text);

// Returns "/tmp (0 bytes left)" if the disk is full or nearly so; otherwise "".
[[nodiscard]] std::string full_disk_text(const std::string& folder, std::uint64_t total_bytes,
                                         std::uint64_t free_bytes);

// Describes the full ones among /, /tmp, /dev/shm and the processes' working directories. May block
// forever if the server of a network file system is gone.
[[nodiscard]] std::vector<std::string> full_disks(std::span<const pid_t> pids);

// The counters of RDMA ports that indicate problems when they grow. Their `change` is 0. Cost:
// about 20 small files per port.
[[nodiscard]] std::vector<Counter> read_counters(const std::string& root = "/sys/class/infiniband");

// Interfaces that are up but have no carrier, as counters "no carrier" with the value 1.
[[nodiscard]] std::vector<Counter> read_dead_interfaces(const std::string& root = "/sys/class/net");

// Returns the counters that have grown, and those that are worth mentioning whenever they are not
// 0.
[[nodiscard]] std::vector<Counter> compare_counters(std::span<const Counter> before,
                                                    std::span<const Counter> after);

// Returns what NCCL's RAS answers on this port of the loopback interface; "" if there is no answer.
// RAS asks all ranks, and each rank that does not respond costs it a second.
[[nodiscard]] std::string ask_nccl(int port, Deadline deadline);
constexpr int kNcclPort = 28028;

}  // namespace muster::inspect
