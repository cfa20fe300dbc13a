// The files of the catalogue, as CMake put them into the binary.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace muster::catalogue {

// Topic and YAML text of each file.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& texts();

}  // namespace muster::catalogue
