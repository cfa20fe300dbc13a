// The kind of network that all hosts use for RDMA.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "layout/rails.hpp"

namespace muster::layout {

struct FabricChoice {
  Fabric fabric = Fabric::kNone;      // kNone: the hosts share none
  std::vector<HostRails> hosts = {};  // in the order given; empty: the hosts share none
  Fabric slower = Fabric::kNone;      // the next best that all hosts have, if there is one
};

// `interfaces` are those of the job's subnet, one per host. The fabric of which the slowest host
// has most; of equal ones the first in the order of Fabric. Cost: linear in hosts.
[[nodiscard]] FabricChoice choose_fabric(std::span<const facts::Facts* const> hosts,
                                         std::span<const std::string> interfaces);

// Whether a rail reaches only the same rail of the other hosts: the rails of a host are in
// different subnets, rail i is in the same subnet on all hosts, and some rail has no gateway.
[[nodiscard]] bool are_separate(std::span<const facts::Facts* const> hosts,
                                std::span<const HostRails> rails);

// "RDMA over InfiniBand: 8 rails of 400 Gb/sec (mlx5_[0-7]) on n[1-4], without mlx5_8 (...)".
// `names` are the hosts'.
[[nodiscard]] std::string to_text(const FabricChoice& choice, std::span<const std::string> names);

}  // namespace muster::layout
