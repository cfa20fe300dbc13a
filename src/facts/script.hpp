// Reads the job's Python code and what it imports from its own folder.
#pragma once

#include <string>

#include "facts/facts.hpp"

namespace muster::facts {

// Reads a script relative to `folder`, or a module below `folder` (`is_module`). Follows import
// statements to files in the script's folder, but does not follow links out of it. Cost: reads at
// most 256 files with 32 MiB in total, and ignores the rest.
[[nodiscard]] Script read_script(const std::string& name, bool is_module,
                                 const std::string& folder);

}  // namespace muster::facts
