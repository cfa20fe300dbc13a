// Runs the attempts of `muster run` on real hosts.
#pragma once

#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "launch/batch.hpp"
#include "launch/plan.hpp"
#include "run/ending.hpp"
#include "run/stage.hpp"

namespace muster::cli {

// Runs the program until an attempt ends the run. `words` are the flags, which are stored for
// --again. `turn` is the first attempt that this process makes.
[[nodiscard]] Result<run::Ending> run_attempts(const RunOptions& options,
                                               const launch::Words& words, const Program& program,
                                               const run::Turn& turn);

}  // namespace muster::cli
