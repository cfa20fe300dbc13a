// MPI installations, each known by its launcher.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

using Variables = std::map<std::string, std::string>;  // an environment

// Path, hash and size of a file; the hash is empty where it cannot be read.
[[nodiscard]] FileIdentity identity_of(const std::string& path);

// The MPI that a launcher belongs to. Looks at files only; where they tell nothing, starts
// `LAUNCHER --version` in the given environment.
// Cost: the hash of a libmpi (2 to 15 MB) and the strings in it.
[[nodiscard]] Mpi read_mpi(const std::string& launcher, const Variables& environment,
                           std::chrono::milliseconds deadline);

}  // namespace muster::facts
