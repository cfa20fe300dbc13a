// Which of the hosts is the machine that muster runs on. Pure: asks no resolver.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::hosts {

struct Here {
  std::string name;                         // what the machine calls itself, with or without domain
  std::vector<std::string> addresses = {};  // of its interfaces
};

// localhost, a loopback address, the machine's own name, or an address of one of its interfaces.
[[nodiscard]] bool is_here(std::string_view host, const Here& here);

// A full name whose first part is the machine's short name. Another domain may have such a host
// too, so only its address can decide.
[[nodiscard]] bool may_be_here(std::string_view host, const Here& here);

}  // namespace muster::hosts
