// What is left to do on a host after a run, when nobody waits for it any more.
#pragma once

#include <span>
#include <string>

#include "agent/record.hpp"

namespace muster::agent {

// Ends the engine's daemons and removes the run's folder, unless it is to be kept. A child of this
// process does that, so that the caller can end its session at once; not in a Slurm step, where it
// would be killed with us.
void clean_up(const std::string& run_id, const std::string& folder,
              std::span<const RankStart> starts, bool keep);

}  // namespace muster::agent
