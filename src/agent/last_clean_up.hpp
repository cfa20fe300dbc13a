// Cleans up on a host after a run, once the launcher no longer waits for the host.
#pragma once

#include <span>
#include <string>

#include "agent/record.hpp"

namespace muster::agent {

// Ends the engine's daemons and removes the run's folder, or keeps it if `keep` is set. A child
// process does the work, so that the caller can end its session at once. In a Slurm step the caller
// does it itself, because Slurm would kill the child together with the caller.
void clean_up(const std::string& run_id, const std::string& folder,
              std::span<const RankStart> starts, bool keep);

}  // namespace muster::agent
