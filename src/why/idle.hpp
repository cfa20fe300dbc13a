// Whether a job stands still, as far as a glance at its processes tells. Pure.
#pragma once

#include "why/verdict.hpp"

namespace muster::why {

// No collective has advanced, and no rank outside of one has computed, read or written. A rank that
// waits inside MPI may use a whole processor: it counts as waiting if it tells its collectives.
// False where nothing was seen.
[[nodiscard]] bool is_idle(const Scene& scene);

}  // namespace muster::why
