// Signals that this process was started with as ignored.
#pragma once

#include <csignal>

namespace muster::sys {

// Whether this process ignores the signal, for example because nohup started it, or a script in the
// background. muster must then not handle the signal.
[[nodiscard]] inline bool is_ignored(int signal) {
  struct sigaction current{};
  return ::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

}  // namespace muster::sys
