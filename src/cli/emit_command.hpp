// The subcommands of `muster emit`, each in a file of its own.
#pragma once

#include "cli/command.hpp"

namespace muster::cli {

void add_emit_terraform(CLI::App& emit, Action& action);

}  // namespace muster::cli
