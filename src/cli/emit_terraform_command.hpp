// `muster emit terraform`.
#pragma once

#include "cli/command.hpp"

namespace muster::cli {

// Adds `terraform` to `emit`.
void add_emit_terraform(CLI::App& emit, Action& action);

}  // namespace muster::cli
