// RDMA devices as /sys shows them.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

// Cost: one file for each entry of each port's GID table (up to 256), two more for those in use,
// and a dozen for each port.
[[nodiscard]] std::vector<RdmaPort> read_rdma(const std::string& root = "/sys/class/infiniband");

// "InfiniBand", "Ethernet", "EFA": for people. The kernel calls the link layer of EFA "Unknown".
[[nodiscard]] std::string link_name(const RdmaPort& port);

}  // namespace muster::facts
