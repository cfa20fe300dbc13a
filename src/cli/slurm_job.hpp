// Outside of an allocation: hosts are asked for from Slurm, now (salloc) or later (sbatch).
#pragma once

#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "launch/batch.hpp"

namespace muster::cli {

// What Slurm is to be asked for.
[[nodiscard]] Result<launch::Words> slurm_flags(const RunOptions& options, const Program& program);

// This binary and the words of `muster run`, ready to be run in the allocation; `words` are those
// that the user gave, without the name of the command.
[[nodiscard]] Result<launch::Words> run_words(const launch::Words& words, const Program& program);

// `salloc ... muster run ...`, with the values of -x in its environment and not on its command
// line; it waits for the hosts, ends as the run does and gives the hosts back; --dry-run only shows
// that line.
[[nodiscard]] Result<int> allocate_and_run(const RunOptions& options, const launch::Words& words,
                                           const Program& program);

}  // namespace muster::cli
