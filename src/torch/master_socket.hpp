// The socket on which rank 0 serves the job's store.
#pragma once

#include <optional>

#include "muster/job.hpp"

namespace muster {

// Binds to the master address and nothing else. None if the name has no address of this host (a
// service in front of a pod, or address translation), or only a loopback address although other
// hosts have ranks. Throws std::runtime_error.
[[nodiscard]] std::optional<int> bind_master(const Job& job);

}  // namespace muster
