// Test data whose values depend on rank and position, and a check of the results of an operation.
#pragma once

#include <cstdint>

#include "programs/bench/fabric.hpp"

namespace muster::programs::bench {

// Fills buffers of this shape, runs the operation once and checks every element of the result.
// Returns how many of this rank's elements are wrong. `round`: use a different number each time, so
// that the result of an earlier call cannot pass. `took_s`: the time of the operation alone.
[[nodiscard]] std::int64_t run_checked(Fabric& fabric, Operation operation, Shape shape, int round,
                                       double& took_s);

}  // namespace muster::programs::bench
