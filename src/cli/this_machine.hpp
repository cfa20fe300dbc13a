// The host of the list that is the machine muster runs on.
#pragma once

#include <string>

#include "base/error.hpp"
#include "hosts/cluster.hpp"

namespace muster::cli {

// What becomes of a second name of this machine in the list.
enum class NamedTwice { kRefused, kOverSsh };

// Marks it (hosts::Host::here) and returns its name in the list; empty: it is none of the hosts, or
// another user or another port is to be used there.
// Cost: one question to the resolver for a full name that may be this machine's.
[[nodiscard]] Result<std::string> find_this_machine(hosts::Cluster& cluster, NamedTwice twice);

}  // namespace muster::cli
