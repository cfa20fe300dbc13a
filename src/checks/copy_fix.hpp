// How to fix a file that is missing on some hosts or differs there.
#pragma once

#include <string>

#include "checks/finding.hpp"

namespace muster::checks {

// Advises copying the directory of `file`, a path relative to the job's folder. If `file` is a name
// without '/' or belongs to the operating system, advises installing the software instead.
[[nodiscard]] std::string copy_fix(const Scene& scene, const std::string& file);

// Like copy_fix, for a file that this machine has and other hosts lack, perhaps because `run
// --sync` did not copy it.
[[nodiscard]] std::string missing_fix(const Scene& scene, const std::string& file);

}  // namespace muster::checks
