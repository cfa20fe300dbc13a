// Variables by which users choose a network interface for Gloo, NCCL and others. All ranks get the
// same values.
#pragma once

#include <string>
#include <vector>

#include "checks/finding.hpp"

namespace muster::checks {

// The names of these variables that the job passes to its ranks, sorted.
[[nodiscard]] std::vector<std::string> interface_variables(const layout::Job& job);

}  // namespace muster::checks
