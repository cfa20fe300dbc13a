// Gathers the facts of this host. Commands and name lookups have deadlines. Reading a file has
// none, so an unresponsive file server can block a probe; then the launcher stops waiting for the
// host. A probe that fails adds an entry to Facts::not_seen.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

struct Gathered {
  Facts facts;
  // The whole environment after activation, as "NAME=value", for the ranks. It may hold secrets and
  // never leaves the host. Empty if no activation was requested, or if it failed.
  std::vector<std::string> environment;
};

// Cost without activation: about 10 ms of CPU, reading files of /proc and /sys, one getent, hashing
// two files for each launcher and program, and starting the interpreter of a Python program once.
// With Request::software, also the cost of read_software.
[[nodiscard]] Gathered gather(const Request& request);

}  // namespace muster::facts
