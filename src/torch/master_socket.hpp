// The socket at which rank 0 serves the job's store.
#pragma once

#include <optional>

#include "muster/job.hpp"

namespace muster {

// Bound to the master address and to nothing else. None: no address of that name belongs to this
// host (a service in front of a pod, address translation), or it is a loopback address and there
// are ranks on other hosts. Throws std::runtime_error.
[[nodiscard]] std::optional<int> bind_master(const Job& job);

}  // namespace muster
