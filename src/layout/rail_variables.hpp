// What NCCL, UCX and libfabric must be told about a host's rails because they cannot find it out.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "facts/facts.hpp"
#include "layout/gid.hpp"
#include "layout/layout.hpp"

namespace muster::layout {

// For the ranks of one host, whose rails, interface and address are in `placement`. `separate`: see
// are_separate; it must be the same for all hosts of a job.
[[nodiscard]] std::map<std::string, std::string> rail_variables(const facts::Facts& host,
                                                                const Placement& placement,
                                                                Fabric fabric, bool separate);

// The GID index that NCCL takes on a RoCE port by itself, given an address family and a range: the
// first valid RoCE v2 GID in the range, whether it is the host's own or not. NCCL begins with index
// 0, and does not ask whether that one is in the range. -1: none.
[[nodiscard]] int index_that_nccl_takes(const facts::RdmaPort& port, bool ipv4,
                                        const std::optional<Network>& range);

}  // namespace muster::layout
