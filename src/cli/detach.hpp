// `muster run --detach`: continues the run in a background process.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"

namespace muster::cli {

// Returns twice. In the user's process it returns an exit code, after the run has begun or failed.
// In the background process it returns nothing, and from then on output goes to the run's folder.
[[nodiscard]] std::optional<Result<int>> detach(const std::string& run_id);

// Tells the waiting process that the run has begun. Returns false if that process has gone. Does
// nothing in a run that was not detached.
[[nodiscard]] bool announce_detached();

}  // namespace muster::cli
