// The advice for a file that is missing on some hosts or differs there.
#pragma once

#include <string>

#include "checks/finding.hpp"

namespace muster::checks {

// Advises copying the folder of `file`, a path relative to the job's folder. A name without '/' or
// a file of the system is to be installed instead.
[[nodiscard]] std::string copy_fix(const Scene& scene, const std::string& file);

// The same for a file that this machine has and hosts lack. `run --sync` may have left it out.
[[nodiscard]] std::string missing_fix(const Scene& scene, const std::string& file);

}  // namespace muster::checks
