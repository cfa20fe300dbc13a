// The catalogue's files, which CMake compiles into the binary.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace muster::catalogue {

// Returns the topic and the YAML text of each file.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& texts();

}  // namespace muster::catalogue
