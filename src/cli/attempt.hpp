// One attempt of a run: from a surveyed cluster to the end of the last process.
#pragma once

#include <string>

#include "cli/run_options.hpp"
#include "cli/survey.hpp"
#include "launch/plan.hpp"
#include "run/output.hpp"
#include "run/stage.hpp"

namespace muster::cli {

using run::AttemptEnd;
using run::Decide;
using run::Turn;

// Returns "Open MPI 5.0.11" or "Slurm (MPICH over pmi2)".
[[nodiscard]] std::string engine_name(const layout::Engine& engine);

// Makes the Plan and writes all known values into the attempt's folder. `by_hand` means that the
// user will start the plan's command.
[[nodiscard]] Result<launch::Plan> prepare(const Surveyed& all, const Turn& turn,
                                           const std::string& folder, bool by_hand = false);

// Sends each host what was decided for it. The host keeps it for the ranks that start there.
void tell_placements(Surveyed& all, const launch::Plan& plan);

// Runs the attempt until none of its processes is left. Then asks `decide` about a restart and
// stores the record in the folder. Fails only if it cannot write to the folder at the start.
// `log_limit` bounds the stored output, in bytes; 0: no limit.
[[nodiscard]] Result<AttemptEnd> supervise(Surveyed& all, const run::Patience& patience,
                                           const launch::Plan& plan, const Turn& turn,
                                           const std::string& folder, const Decide& decide,
                                           run::Audience audience = {},
                                           std::uint64_t log_limit = 0);

}  // namespace muster::cli
