// What the ranks load besides the program: Python packages and shared libraries.
#pragma once

#include <chrono>

#include "facts/facts.hpp"
#include "facts/hash_cache.hpp"
#include "facts/mpi.hpp"
#include "facts/program.hpp"

namespace muster::facts {

inline constexpr std::size_t kMostLibraries = 1024;

// Looks at files only, and asks the loader twice which libraries it would take. Cost: some 20 ms
// and what `hashes` may read. `not_seen` gets an entry if the loader does not answer.
[[nodiscard]] Software read_software(const FoundProgram& found, const Variables& environment,
                                     std::chrono::milliseconds deadline, HashCache& hashes,
                                     std::vector<NotSeen>& not_seen);

}  // namespace muster::facts
