// The processes of one run on this host, found so that no other is ever taken for one of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/record.hpp"

namespace muster::agent {

// The programs and shims that were recorded and are alive, their descendants, and every process of
// ours that carries the run's id in its environment (what a killed shim left). Never this process.
// Cost: one pass over /proc.
[[nodiscard]] std::vector<ProcessId> rank_processes(const std::string& run_id,
                                                    std::span<const RankStart> starts);

// For each start, the program and its descendants that are alive, parents first.
// Cost: one pass over /proc.
[[nodiscard]] std::vector<std::vector<pid_t>> process_trees(std::span<const RankStart> starts);

// The engine's daemons above the shims that are alive: only a process whose program is a known
// daemon or launcher of an engine, never a shell or a service manager.
// Includes daemons with the run's id on their command line, as Open MPI's have.
// Cost: one pass over /proc.
[[nodiscard]] std::vector<ProcessId> engine_daemons(const std::string& run_id,
                                                    std::span<const RankStart> starts);

// The engine's launcher on this host that starts the ranks of this run; found by its command line.
[[nodiscard]] std::optional<ProcessId> engine_of(const std::string& run_id);

// The keeper of that run on this host.
[[nodiscard]] std::optional<ProcessId> keeper_of(const std::string& run_id);

// Sends the signal if that process is still the same.
void send_signal(const ProcessId& process, int signal);

}  // namespace muster::agent
