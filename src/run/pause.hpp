// The wait between two attempts of a run.
#pragma once

#include <optional>

namespace muster::run {

// Waits. Returns the signal (SIGINT, SIGTERM, SIGHUP) that ended the wait early; nothing if the
// time passed.
[[nodiscard]] std::optional<int> pause(double seconds);

}  // namespace muster::run
