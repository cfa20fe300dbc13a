// The host's own names for the job's network: an interface has another name on every host.
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

// "198.18.0.0/16", "fd00::/64".
[[nodiscard]] Result<AddressRange> parse_range(const std::string& text);

// The variables that tell Gloo, NCCL, TensorPipe, UCX, libfabric and oneCCL which interface to use,
// and those that were decided about the host's rails (Assignment::variables), which replace them.
[[nodiscard]] std::map<std::string, std::string> network_variables(
    const std::string& interface, const std::map<std::string, std::string>& rails = {});

// Takes out what would overrule the user's own choice of ports or GIDs in `environment`: an index
// and a range of addresses are right only for the ports that muster chose, and NCCL prefers an
// index to all other ways to choose a GID.
void leave_gids_to_user(const std::map<std::string, std::string>& environment,
                        std::map<std::string, std::string>& variables);

// Beyond these, for a job whose network is IPv6: on hosts that have both, IPv4 would come first.
[[nodiscard]] std::map<std::string, std::string> ipv6_variables(const std::string& interface);

// The first interface of this host in that subnet that is up and not loopback; for a rank that no
// Layout was made for. An Error when there is none.
[[nodiscard]] Result<std::string> interface_in(const std::string& subnet);

}  // namespace muster::agent
