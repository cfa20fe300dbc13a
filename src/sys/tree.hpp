// Examines a folder with everything below it.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace muster::sys {

// The files and folders below `folder` that we may not read. Does not follow links. Cost: one look
// at each file.
[[nodiscard]] Result<std::vector<std::string>> unreadable_below(const std::string& folder);

}  // namespace muster::sys
