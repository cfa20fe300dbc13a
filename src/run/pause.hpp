// The wait between two attempts of a run.
#pragma once

#include <optional>

namespace muster::run {

// Whether this process ignores the signal, for example because nohup started it, or a script in the
// background. muster must then not handle the signal.
[[nodiscard]] bool is_ignored(int signal);

// Waits. Returns the signal (SIGINT, SIGTERM, SIGHUP) that ended the wait early; nothing if the
// time passed.
[[nodiscard]] std::optional<int> pause(double seconds);

}  // namespace muster::run
