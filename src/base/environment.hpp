// The environment of this process.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster {

[[nodiscard]] std::map<std::string, std::string> own_environment();

// The names in a variable that lists some, with commas between them. No name is empty.
[[nodiscard]] std::vector<std::string> listed_names(const std::string& value);

}  // namespace muster
