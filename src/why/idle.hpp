// Whether a job stands still, as far as a glance at its processes tells. Pure.
#pragma once

#include "why/verdict.hpp"

namespace muster::why {

// Every running rank was seen, no collective has advanced, and no rank has computed, read or
// written. A rank that waits in a collective over MPI or NCCL may use a whole processor: that does
// not count as computing if the rank tells its collectives.
[[nodiscard]] bool is_idle(const Scene& scene);

}  // namespace muster::why
