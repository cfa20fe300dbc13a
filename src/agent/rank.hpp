// The rank shim: the process that an engine starts for each rank, and the parent of the program.
//
// It sets the rank's variables under every engine, sends the program's output to the warden, passes
// signals on, records start and end, kills what outlives the program, and exits as the program did.
// If it is killed itself, the program dies. docs/engines.md describes it for users.
#pragma once

#include <optional>

namespace muster::agent {

// Takes over when the command is `muster rank`; else nothing. Must be called before the process
// changes a signal disposition or opens a descriptor: the program inherits them.
[[nodiscard]] std::optional<int> rank_main(int argc, char** argv);

}  // namespace muster::agent
