// What the ranks load in addition to the program: Python packages and shared libraries.
#pragma once

#include <chrono>

#include "facts/facts.hpp"
#include "facts/hash_cache.hpp"
#include "facts/mpi.hpp"
#include "facts/program.hpp"

namespace muster::facts {

inline constexpr std::size_t kMostLibraries = 1024;

// Examines files, and asks the loader twice which libraries it would use. Cost: about 20 ms plus
// the budget of `hashes`. Adds an entry to `not_seen` if the loader does not answer.
[[nodiscard]] Software read_software(const FoundProgram& found, const Variables& environment,
                                     std::chrono::milliseconds deadline, HashCache& hashes,
                                     std::vector<NotSeen>& not_seen);

}  // namespace muster::facts
