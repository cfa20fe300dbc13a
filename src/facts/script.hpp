// The Python code of the job, and what it imports from its own folder.
#pragma once

#include <string>

#include "facts/facts.hpp"

namespace muster::facts {

// A script relative to `folder`, or a module below it (`is_module`). Follows import statements to
// files in the script's folder, but no links out of it. Cost: reads at most 256 files and 32 MiB in
// all, and ignores the rest.
[[nodiscard]] Script read_script(const std::string& name, bool is_module,
                                 const std::string& folder);

}  // namespace muster::facts
