// The rank shim: the process that an engine starts for each rank, and the parent of the program.
//
// It tells the program who it is, whichever engine started it; takes its output to a file and, in
// labelled lines, to the engine; passes signals on; records start and end; lets nothing outlive the
// rank; and ends exactly as the program did. If it is killed itself, the program dies.
// docs/ranks.md is what a user sees of it.
#pragma once

#include <optional>

namespace muster::agent {

// Takes over when the command is `muster rank`; else nothing. Must be called before the process
// changes a signal disposition or opens a descriptor: the program inherits them.
[[nodiscard]] std::optional<int> rank_main(int argc, char** argv);

}  // namespace muster::agent
