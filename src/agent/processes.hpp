// Finds the processes of one run on this host and never mistakes another process for one of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/record.hpp"

namespace muster::agent {

// Returns the recorded programs and rank processes that are alive, their descendants, and every
// process of this user with the run's id in its environment (which a killed rank process may have
// left behind). Never returns this process. Cost: one pass over /proc.
[[nodiscard]] std::vector<ProcessId> rank_processes(const std::string& run_id,
                                                    std::span<const RankStart> starts);

// For each start: the program and its descendants that are alive, parents first. Cost: one pass
// over /proc.
[[nodiscard]] std::vector<std::vector<pid_t>> process_trees(std::span<const RankStart> starts);

// Returns the engine's daemons that started these ranks and are still alive. Only a process whose
// program is a known daemon or launcher of an engine counts, never a shell or a service manager.
// Also returns daemons with the run's id on their command line, as Open MPI's have. Cost: one pass
// over /proc.
[[nodiscard]] std::vector<ProcessId> engine_daemons(const std::string& run_id,
                                                    std::span<const RankStart> starts);

// Finds the engine's launcher of this run on this host by its command line.
[[nodiscard]] std::optional<ProcessId> engine_of(const std::string& run_id);

// Finds the keeper of that run on this host.
[[nodiscard]] std::optional<ProcessId> keeper_of(const std::string& run_id);

// Sends the signal unless the process has ended and its PID now belongs to another one.
void send_signal(const ProcessId& process, int signal);

}  // namespace muster::agent
