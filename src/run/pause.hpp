// The wait between two attempts of a run.
#pragma once

#include <optional>

namespace muster::run {

// Whether the signal was already ignored when muster started, by nohup or for a script's background
// job. muster keeps ignoring it.
[[nodiscard]] bool is_ignored(int signal);

// Waits. Returns the signal (SIGINT, SIGTERM, SIGHUP) that ended the wait early; nothing if the
// time passed.
[[nodiscard]] std::optional<int> pause(double seconds);

}  // namespace muster::run
