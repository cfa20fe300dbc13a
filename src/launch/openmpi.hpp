// Open MPI's words: PRRTE's parameters from version 5 on, ORTE's before.
#pragma once

#include "launch/plan.hpp"

namespace muster::launch {

[[nodiscard]] Result<Plan> plan_openmpi(const layout::Job& job, const layout::Layout& layout,
                                        const Means& means);

}  // namespace muster::launch
