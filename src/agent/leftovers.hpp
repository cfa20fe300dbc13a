// What earlier attempts of a run left on this host: a host that was cut off and is back may still
// run ranks of an attempt that was given up.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace muster::agent {

// Ends every process of those runs, by their wardens where there are some, and returns when they
// are gone; an Error where one does not go. Their folders stay: they may hold output.
[[nodiscard]] Result<void> end_leftovers(const std::vector<std::string>& run_ids);

}  // namespace muster::agent
