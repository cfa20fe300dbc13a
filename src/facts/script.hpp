// The Python code that is to run, and what it imports from the folder beside it.
#pragma once

#include <string>

#include "facts/facts.hpp"

namespace muster::facts {

// A script from `folder`, or a module below it (`is_module`). Files beside a script are followed
// through the import statements; links that lead out of its folder are not. Cost: reads at most 256
// files with 32 MiB in all; what is beyond that is not looked at.
[[nodiscard]] Script read_script(const std::string& name, bool is_module,
                                 const std::string& folder);

}  // namespace muster::facts
