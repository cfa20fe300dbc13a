// What `muster run` does, for commands that bring a program of their own.
#pragma once

#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "launch/plan.hpp"

namespace muster::cli {

// A program that muster brings: beside this binary, by the path that the hosts see too where the
// folder is shared or installed on all of them; else whatever is in the hosts' PATH.
[[nodiscard]] std::string own_program(const char* name);

// `words` are the flags of `muster run`, for the case that Slurm has to be asked first.
[[nodiscard]] Result<int> run_program(const RunOptions& options,
                                      const std::vector<std::string>& words,
                                      const Program& program);

}  // namespace muster::cli
