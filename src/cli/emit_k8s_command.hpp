// `muster emit k8s`.
#pragma once

#include "cli/command.hpp"

namespace muster::cli {

// Adds `k8s` to `emit`; `program` is what follows "--".
void add_emit_k8s(CLI::App& emit, Action& action, const Program& program);

}  // namespace muster::cli
