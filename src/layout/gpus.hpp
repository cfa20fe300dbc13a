// The GPUs that a host's ranks can use. Pure.
#pragma once

#include "facts/facts.hpp"
#include "facts/visible_gpus.hpp"
#include "layout/job.hpp"

namespace muster::layout {

// The variables about GPUs that the ranks of this host will have. Values that muster passes on (-x)
// win over those of the activation.
[[nodiscard]] facts::GpuVariables gpu_variables_of_ranks(const Job& job, const facts::Facts& host);

// How many ranks the host gets with one rank per GPU.
[[nodiscard]] int gpus_for_ranks(const Job& job, const facts::Facts& host);

// Whether each of the first `ranks` ranks of this host has a GPU whose nearby CPUs are known.
[[nodiscard]] bool all_ranks_have_cpus(const Job& job, const facts::Facts& host, int ranks);

}  // namespace muster::layout
