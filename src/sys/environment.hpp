// The environment of this process.
#pragma once

#include <map>
#include <string>

namespace muster::sys {

using Environment = std::map<std::string, std::string>;

[[nodiscard]] Environment own_environment();

}  // namespace muster::sys
