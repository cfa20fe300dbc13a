// Hydra's words: MPICH's dialect and Intel MPI's.
#pragma once

#include "launch/plan.hpp"

namespace muster::launch {

[[nodiscard]] Plan plan_hydra(const layout::Job& job, const layout::Layout& layout,
                              const Means& means);

}  // namespace muster::launch
