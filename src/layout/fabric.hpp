// Chooses the kind of network that all hosts use for RDMA.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "layout/rails.hpp"

namespace muster::layout {

struct FabricChoice {
  Fabric fabric = Fabric::kNone;  // kNone: the hosts have no fabric in common
  // In the given order; empty if the hosts have no fabric in common.
  std::vector<HostRails> hosts = {};
  Fabric slower = Fabric::kNone;  // the second-best fabric that all hosts have, or kNone
};

// `interfaces` are those in the job's subnet, one per host. Chooses the fabric that gives the
// slowest host the most bandwidth; if equal, the first one in the order of Fabric. Cost: linear in
// hosts.
[[nodiscard]] FabricChoice choose_fabric(std::span<const facts::Facts* const> hosts,
                                         std::span<const std::string> interfaces);

// Whether a rail can reach only the same rail of other hosts. That is so if a host's rails are in
// different subnets, rail i is in the same subnet on all hosts, and some rail has no gateway.
[[nodiscard]] bool are_separate(std::span<const facts::Facts* const> hosts,
                                std::span<const HostRails> rails);

// Returns "RDMA over InfiniBand: 8 rails of 400 Gb/sec (mlx5_[0-7]) on n[1-4], without mlx5_8
// (...)". `names` are the names of the hosts.
[[nodiscard]] std::string to_text(const FabricChoice& choice, std::span<const std::string> names);

}  // namespace muster::layout
