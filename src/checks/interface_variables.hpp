// Variables by which the user names a network interface to Gloo, NCCL and others, for all ranks.
#pragma once

#include <string>
#include <vector>

#include "checks/finding.hpp"

namespace muster::checks {

// Names of those that are handed to the ranks, sorted.
[[nodiscard]] std::vector<std::string> interface_variables(const layout::Job& job);

}  // namespace muster::checks
