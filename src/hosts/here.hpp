// Decides which of the hosts is the machine on which muster runs. Pure: resolves no names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::hosts {

struct Here {
  std::string name;                         // hostname of this machine, with or without domain
  std::vector<std::string> addresses = {};  // addresses of its interfaces
};

// True for localhost, loopback addresses, the machine's own name and the addresses of its
// interfaces.
[[nodiscard]] bool is_here(std::string_view host, const Here& here);

// True for a full name whose first part is the machine's short name. Since another domain may have
// a host of this name too, the caller must compare addresses.
[[nodiscard]] bool may_be_here(std::string_view host, const Here& here);

}  // namespace muster::hosts
