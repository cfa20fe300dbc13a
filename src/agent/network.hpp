// The host's own names for the job's network: an interface has another name on every host, so each
// rank finds it from the subnet.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace muster::agent {

struct Subnet {
  int family = 0;  // AF_INET or AF_INET6
  std::vector<unsigned char> address = {};
  int prefix = 0;  // bits

  [[nodiscard]] bool contains(int other_family, const unsigned char* other) const;
};

// "198.18.0.0/16", "fd00::/64".
[[nodiscard]] Result<Subnet> parse_subnet(const std::string& text);

struct RdmaDevice {
  std::string port;  // "mlx5_0:1"
  int gid_index = 0;
};

// The RoCE v2 entry with an IPv4 address that belongs to `interface`. `folder`:
// /sys/class/infiniband.
[[nodiscard]] std::optional<RdmaDevice> find_rdma(const std::string& folder,
                                                  const std::string& interface);

// The variables that tell Gloo, NCCL, TensorPipe, UCX, libfabric and oneCCL which interface to use.
[[nodiscard]] std::map<std::string, std::string> network_variables(
    const std::string& interface, const std::optional<RdmaDevice>& rdma);

// The same for the interface of this host in that subnet; an Error when there is none that is up.
[[nodiscard]] Result<std::map<std::string, std::string>> network_variables(
    const std::string& subnet, bool rdma);

}  // namespace muster::agent
