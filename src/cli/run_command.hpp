// Runs a program as `muster run` does, for commands that bring their own program.
#pragma once

#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "launch/plan.hpp"

namespace muster::cli {

// Finds a program that belongs to muster. Returns its path if it is beside this binary; the hosts
// must then have it at the same path, in a shared directory or because it is installed there too.
// Otherwise returns `name`, which the hosts look up in PATH.
[[nodiscard]] std::string own_program(const char* name);

// `words` are the flags of `muster run`, needed if Slurm must be asked for hosts first.
[[nodiscard]] Result<int> run_program(const RunOptions& options,
                                      const std::vector<std::string>& words,
                                      const Program& program);

}  // namespace muster::cli
