// torchrun's command line: one torchrun on every host, or one in this pod.
#pragma once

#include "launch/plan.hpp"

namespace muster::launch {

[[nodiscard]] Result<Plan> plan_torchrun(const layout::Job& job, const layout::Layout& layout,
                                         const Means& means);

}  // namespace muster::launch
