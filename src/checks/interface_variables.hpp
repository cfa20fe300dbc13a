// Variables with which the user names a network interface for Gloo, NCCL and others, on all ranks.
#pragma once

#include <string>
#include <vector>

#include "checks/finding.hpp"

namespace muster::checks {

// Names of those that are passed to the ranks, sorted.
[[nodiscard]] std::vector<std::string> interface_variables(const layout::Job& job);

}  // namespace muster::checks
