// Looks at this host. Commands and name lookups have deadlines. Reading a file has none, so a dead
// file server can block a probe; the launcher then gives up on the host. A probe that cannot look
// says so in Facts::not_seen.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

struct Gathered {
  Facts facts;
  // "NAME=value", the whole environment after activation, for the ranks. It may hold secrets: it
  // never leaves the host. Empty: no activation was asked for, or it failed.
  std::vector<std::string> environment;
};

// Cost: some 10 ms of CPU without activation; files of /proc and /sys, one getent, the hash of two
// files for each launcher and program; one start of the interpreter for a Python program. With
// Request::software, also what read_software costs.
[[nodiscard]] Gathered gather(const Request& request);

}  // namespace muster::facts
