// For use outside an allocation: asks Slurm for hosts, now (salloc) or later (sbatch).
#pragma once

#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "launch/batch.hpp"

namespace muster::cli {

// The flags for salloc or sbatch.
[[nodiscard]] Result<launch::Words> slurm_flags(const RunOptions& options, const Program& program);

// This binary and the words of `muster run`, for use inside the allocation. `words` are what the
// user typed, without the name of the command.
[[nodiscard]] Result<launch::Words> run_words(const launch::Words& words, const Program& program);

// Runs `salloc ... muster run ...`. The values of -x are in its environment and not on its command
// line. It waits for the hosts, ends with the exit code of the run and releases the hosts. With
// --dry-run, only prints that command line.
[[nodiscard]] Result<int> allocate_and_run(const RunOptions& options, const launch::Words& words,
                                           const Program& program);

}  // namespace muster::cli
