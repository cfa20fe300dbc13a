// Waiting between two attempts of a run.
#pragma once

#include <optional>

namespace muster::run {

// By nohup, or for a script's background job: then it stays ignored.
[[nodiscard]] bool is_ignored(int signal);

// The signal (SIGINT, SIGTERM, SIGHUP) that came in the meantime and ended the wait; nothing: the
// time is over.
[[nodiscard]] std::optional<int> pause(double seconds);

}  // namespace muster::run
