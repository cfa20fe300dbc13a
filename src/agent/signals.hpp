// Makes signals readable from a descriptor, so that they neither interrupt the rank process nor get
// lost.
#pragma once

#include <csignal>
#include <optional>

#include "base/error.hpp"

namespace muster::agent {

// Blocks every signal in this process and remembers the previous settings, so that give_back() can
// restore them for the program. Sets SIGCHLD to its default, because children cannot be waited for
// while it is ignored.
class SignalGuard {
 public:
  SignalGuard();
  void give_back() const;  // called in the child, before exec
  // Returns a descriptor from which `next_signal` reads the signals that other processes send to
  // us.
  [[nodiscard]] Result<int> open_descriptor() const;

 private:
  sigset_t mask_{};
  struct sigaction child_ended_{};
};

// Returns the next signal that was sent to us, or nothing if there is none now. Skips SIGPIPE and
// SIGXFSZ, which our own writes cause.
[[nodiscard]] std::optional<int> next_signal(int descriptor);

}  // namespace muster::agent
