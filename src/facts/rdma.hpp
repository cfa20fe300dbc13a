// RDMA devices according to /sys.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

// Cost: one file per entry in each port's GID table (up to 256), two more per entry in use, and a
// dozen files per port.
[[nodiscard]] std::vector<RdmaPort> read_rdma(const std::string& root = "/sys/class/infiniband");

// "InfiniBand", "Ethernet" or "EFA", for people. The kernel calls the link layer of EFA "Unknown".
[[nodiscard]] std::string link_name(const RdmaPort& port);

}  // namespace muster::facts
