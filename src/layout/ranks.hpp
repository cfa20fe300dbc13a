// Which ranks run where.
#pragma once

#include <span>
#include <vector>

#include "facts/facts.hpp"
#include "hosts/cluster.hpp"
#include "layout/job.hpp"
#include "layout/layout.hpp"

namespace muster::layout {

// Host, first rank and number of ranks of each host that gets one; in the cluster's order, each
// host filled before the next (Open MPI's by-slot mapping). An Error where the numbers contradict
// each other. Cost: linear in hosts.
// `surveys` are for Job::ranks_by; a host without Facts gets one rank.
[[nodiscard]] Result<std::vector<Placement>> place_ranks(
    const Job& job, const hosts::Cluster& cluster, std::span<const facts::Survey> surveys = {});

}  // namespace muster::layout
