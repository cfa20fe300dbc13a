// Ends what earlier attempts of a run left on this host. A host that was cut off and is reachable
// again may still run ranks of an abandoned attempt.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace muster::agent {

// Ends every process of those runs, first asking the wardens that still exist, and returns when all
// are gone. Fails if a process does not end. The runs' folders stay, because they may hold output.
[[nodiscard]] Result<void> end_leftovers(const std::vector<std::string>& run_ids);

}  // namespace muster::agent
