// Finds the host's interface in the job's network. Interfaces have different names on different
// hosts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace muster::agent {

struct AddressRange {
  int family = 0;  // AF_INET or AF_INET6
  std::vector<unsigned char> address = {};
  int prefix = 0;  // bits

  [[nodiscard]] bool contains(int other_family, const unsigned char* other) const;
};

// Parses a subnet, such as "198.18.0.0/16" or "fd00::/64".
[[nodiscard]] Result<AddressRange> parse_range(const std::string& text);

// The variables that tell Gloo, NCCL, TensorPipe, UCX, libfabric and oneCCL which interface to use.
// The variables in `rails` (Assignment::variables) replace those of the same names.
[[nodiscard]] std::map<std::string, std::string> network_variables(
    const std::string& interface, const std::map<std::string, std::string>& rails = {});

// Removes muster's GID index and address range from `variables` if the user has chosen ports or
// GIDs in `environment`. They are right only for the ports that muster chose, and the index would
// override the user's choice, because NCCL prefers it to all other ways to choose a GID.
void leave_gids_to_user(const std::map<std::string, std::string>& environment,
                        std::map<std::string, std::string>& variables);

// Further variables for a job whose network is IPv6. Without them, libraries would prefer IPv4 on
// hosts that have both.
[[nodiscard]] std::map<std::string, std::string> ipv6_variables(const std::string& interface);

// Returns the first interface of this host in that subnet that is up and not loopback. Fails if
// there is none. For ranks that have no Assignment.
[[nodiscard]] Result<std::string> interface_in(const std::string& subnet);

}  // namespace muster::agent
