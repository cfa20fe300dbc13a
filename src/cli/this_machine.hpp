// Finds the host in the list that is the machine muster runs on.
#pragma once

#include <string>

#include "base/error.hpp"
#include "hosts/cluster.hpp"

namespace muster::cli {

// What to do with a second name of this machine in the list.
enum class NamedTwice { kRefused, kOverSsh };

// Marks this machine (hosts::Host::here) and returns its name in the list. Empty if it is not in
// the list, or if the list asks for another user or port.
// Cost: one resolver lookup for each full name that may be this machine's.
[[nodiscard]] Result<std::string> find_this_machine(hosts::Cluster& cluster, NamedTwice twice);

}  // namespace muster::cli
