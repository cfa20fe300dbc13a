// For use outside an allocation: asks Slurm for hosts, now (salloc) or later (sbatch).
#pragma once

#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "launch/batch.hpp"

namespace muster::cli {

// The flags for salloc or sbatch.
[[nodiscard]] Result<launch::Words> slurm_flags(const RunOptions& options, const Program& program);

// The path of this binary.
[[nodiscard]] Result<std::string> own_binary();

// The arguments of the `muster run` inside the allocation, from "run" on. `words` are what the user
// typed, without the name of the command.
[[nodiscard]] launch::Words run_arguments(const launch::Words& words, const Program& program);

// Runs `salloc ... muster run ...`. The values of -x are in the environment of salloc and not on
// its command line. salloc waits for the hosts, runs the command, releases the hosts and exits with
// the exit code of the run. With --dry-run, only prints the command line.
[[nodiscard]] Result<int> allocate_and_run(const RunOptions& options, const launch::Words& words,
                                           const Program& program);

}  // namespace muster::cli
