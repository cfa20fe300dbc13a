// srun's words, for a step of the allocation that we are in.
#pragma once

#include "launch/plan.hpp"

namespace muster::launch {

[[nodiscard]] Result<Plan> plan_slurm(const layout::Job& job, const layout::Layout& layout,
                                      const Means& means);

}  // namespace muster::launch
