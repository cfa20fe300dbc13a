// The socket on which rank 0 serves the job's store.
#pragma once

#include <optional>

#include "muster/job.hpp"

namespace muster {

// Returns a socket that is bound to the master address and nothing else. Returns nothing if the
// master is given by name, if this host does not have the address (a service in front of a pod, or
// address translation), or if it is a loopback address although other hosts have ranks. Throws
// std::runtime_error if binding fails for another reason, such as a port in use.
[[nodiscard]] std::optional<int> bind_master(const Job& job);

}  // namespace muster
