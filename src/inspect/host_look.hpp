// The host around the ranks: addresses, load, disks, network ports.
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

// Of the host, without loopback and link-local ones.
[[nodiscard]] std::vector<std::string> host_addresses();

// The average of the last minute in /proc/loadavg.
[[nodiscard]] double parse_load(std::string_view text);

// "/tmp (0 bytes left)"; empty: there is room, or the numbers say nothing.
[[nodiscard]] std::string full_disk_text(const std::string& folder, std::uint64_t total_bytes,
                                         std::uint64_t free_bytes);

// Of /, /tmp, /dev/shm and the working directories of the processes. May wait for ever on a dead
// network file system.
[[nodiscard]] std::vector<std::string> full_disks(std::span<const pid_t> pids);

// Counters of RDMA ports that tell of trouble when they grow, with `change` 0.
// Cost: about 20 small files per port.
[[nodiscard]] std::vector<Counter> read_counters(const std::string& root = "/sys/class/infiniband");

// Interfaces that are up but have no carrier, as counters "no carrier" with value 1.
[[nodiscard]] std::vector<Counter> read_dead_interfaces(const std::string& root = "/sys/class/net");

// Those that grew, and those that are worth mention whenever they are not 0.
[[nodiscard]] std::vector<Counter> compare_counters(std::span<const Counter> before,
                                                    std::span<const Counter> after);

// What NCCL's RAS answers on this port of the loopback interface; empty: nothing. It gathers from
// all ranks, and a missing one costs it a second.
[[nodiscard]] std::string ask_nccl(int port, Deadline deadline);
constexpr int kNcclPort = 28028;

}  // namespace muster::inspect
