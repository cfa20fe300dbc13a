// The hosts that Slurm has given to the job that we run in, read from its variables.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "hosts/host.hpp"

namespace muster::hosts {

struct Allocation {
  std::string job;          // its number
  std::vector<Host> hosts;  // in Slurm's order; the slots are the tasks that were asked for
};

// Nothing outside of an allocation. Refuses to be one of several tasks of a step. Errors name the
// variable.
[[nodiscard]] Result<std::optional<Allocation>> read_allocation(
    const std::map<std::string, std::string>& environment);

}  // namespace muster::hosts
