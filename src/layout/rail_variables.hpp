// The variables that tell NCCL, UCX and libfabric what they cannot find out themselves about a
// host's rails.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "facts/facts.hpp"
#include "layout/gid.hpp"
#include "layout/layout.hpp"

namespace muster::layout {

// The variables for the ranks of one host. Rails, interface and address are in `placement`.
// `separate` is the result of are_separate and must be the same for all hosts of a job.
[[nodiscard]] std::map<std::string, std::string> rail_variables(const facts::Facts& host,
                                                                const Placement& placement,
                                                                Fabric fabric, bool separate);

// The GID index that NCCL uses on a RoCE port by itself, for this address family and range: the
// first valid RoCE v2 GID in the range, even if it is not the host's own. NCCL starts with index 0
// without checking that it is in the range. -1 if there is none.
[[nodiscard]] int index_that_nccl_takes(const facts::RdmaPort& port, bool ipv4,
                                        const std::optional<Network>& range);

}  // namespace muster::layout
