// Reads the hosts of the Slurm job in which muster runs from Slurm's variables.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "hosts/host.hpp"

namespace muster::hosts {

struct Allocation {
  std::string job;          // number of the Slurm job, as text
  std::vector<Host> hosts;  // in Slurm's order; slots are the requested tasks
};

// Returns nothing outside an allocation. Fails if muster is one of several tasks of a step. Errors
// name the variable.
[[nodiscard]] Result<std::optional<Allocation>> read_allocation(
    const std::map<std::string, std::string>& environment);

}  // namespace muster::hosts
