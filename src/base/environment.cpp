#include "base/environment.hpp"

#include <algorithm>
#include <string_view>

#include <unistd.h>

namespace muster {

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::vector<std::string> listed_names(const std::string& value) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    if (end > begin) names.push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

}  // namespace muster
