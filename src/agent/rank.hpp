// The rank shim: the process that an engine starts for each rank, and the parent of the program.
//
// It sets the rank's variables under every engine, sends the program's output to the warden, passes
// signals on, records start and end, kills what outlives the program, and exits as the program did.
// If it is killed itself, the program dies. docs/engines.md describes it for users.
#pragma once

#include <optional>

namespace muster::agent {

// Runs the rank shim if the command line is `muster rank`; otherwise returns nothing. Must be
// called before this process changes a signal disposition or opens a descriptor, because the
// program inherits them.
[[nodiscard]] std::optional<int> rank_main(int argc, char** argv);

}  // namespace muster::agent
