// Whether a job makes no progress, according to a quick look at its processes. Pure.
#pragma once

#include "why/verdict.hpp"

namespace muster::why {

// True if ranks run, all of them were seen, no collective advanced, and no rank computed, read or
// wrote.
// A rank that waits in a collective over MPI or NCCL may use a whole CPU. That does not count as
// computing if the rank's recorder shows the collective.
[[nodiscard]] bool is_idle(const Scene& scene);

}  // namespace muster::why
