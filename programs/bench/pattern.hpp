// Values that depend on rank and place, and whether an operation made of them what it must.
#pragma once

#include <cstdint>

#include "programs/bench/fabric.hpp"

namespace muster::programs::bench {

// Fills the buffers of this shape, runs the operation once and looks at every element of the
// result; how many of this rank's are wrong. `round`: other values each time, so that no result of
// an earlier call passes. `took_s`: the operation alone.
[[nodiscard]] std::int64_t run_checked(Fabric& fabric, Operation operation, Shape shape, int round,
                                       double& took_s);

}  // namespace muster::programs::bench
