// MPI installations, each identified by its launcher.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

using Variables = std::map<std::string, std::string>;  // an environment

// The path, hash and size of a file. The hash is empty if the file cannot be read.
[[nodiscard]] FileIdentity identity_of(const std::string& path);

// The MPI to which a launcher belongs. Examines only files if these suffice, and otherwise starts
// `LAUNCHER --version` in the given environment. Cost: hashing and searching a libmpi of 2 to 15
// MB.
[[nodiscard]] Mpi read_mpi(const std::string& launcher, const Variables& environment,
                           std::chrono::milliseconds deadline);

}  // namespace muster::facts
