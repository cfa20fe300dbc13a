// The host of the list that is the machine muster runs on.
#pragma once

#include <string>

#include "base/error.hpp"
#include "hosts/cluster.hpp"

namespace muster::cli {

// Marks it (hosts::Host::here) and returns its name in the list; empty: it is none of the hosts, or
// another user is to log in there. An Error where the list names this machine twice.
// Cost: one question to the resolver for a full name that may be this machine's.
[[nodiscard]] Result<std::string> find_this_machine(hosts::Cluster& cluster);

}  // namespace muster::cli
