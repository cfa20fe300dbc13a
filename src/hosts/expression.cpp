#include "hosts/expression.hpp"

namespace muster::hosts {

Result<std::vector<Host>> parse_expression(std::string_view text) {
  std::vector<Host> hosts;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    hosts.push_back({.name = std::string(name)});
    text.remove_prefix(std::min(text.size(), name.size() + 1));
  }
  return hosts;
}

}  // namespace muster::hosts
