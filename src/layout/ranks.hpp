// Decides which ranks run on which hosts.
#pragma once

#include <span>
#include <vector>

#include "facts/facts.hpp"
#include "hosts/cluster.hpp"
#include "layout/job.hpp"
#include "layout/layout.hpp"

namespace muster::layout {

// Returns the placement (host, first rank, number of ranks) of each host that gets a rank, in the
// cluster's order. Each host is filled before the next (like Open MPI's by-slot mapping). Fails if
// the numbers contradict each other. `surveys` are needed only for Job::ranks_by, which gives a
// host without Facts one rank. Cost: linear in hosts.
[[nodiscard]] Result<std::vector<Placement>> place_ranks(
    const Job& job, const hosts::Cluster& cluster, std::span<const facts::Survey> surveys = {});

}  // namespace muster::layout
