// The advice for a file that is missing on some hosts or differs there.
#pragma once

#include <string>

#include "checks/finding.hpp"

namespace muster::checks {

// To copy the folder of `file`, a path from the job's folder; to install it where it is a name
// without '/' or belongs to the system.
[[nodiscard]] std::string copy_fix(const Scene& scene, const std::string& file);

}  // namespace muster::checks
