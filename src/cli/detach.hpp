// `muster run --detach`: the run goes on in a process of its own.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"

namespace muster::cli {

// In the process that the user started: an exit code, once the run has begun or failed to. In the
// one that goes on: nothing; its output goes to the run's folder.
[[nodiscard]] std::optional<Result<int>> detach(const std::string& run_id);

// Tells the waiting process that the run has begun; false: it has gone. Without one it does
// nothing.
[[nodiscard]] bool announce_detached();

}  // namespace muster::cli
