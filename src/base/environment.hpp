// The environment of this process.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster {

[[nodiscard]] std::map<std::string, std::string> own_environment();

// Splits a comma-separated list of names, such as a variable may hold. Drops empty names.
[[nodiscard]] std::vector<std::string> listed_names(const std::string& value);

}  // namespace muster
