// Signals as something to read: they neither interrupt the shim nor get lost.
#pragma once

#include <csignal>
#include <optional>

#include "base/error.hpp"

namespace muster::agent {

// Blocks every signal in this process and remembers how they were, so that the program gets them
// back. SIGCHLD is not ignored meanwhile: children could not be waited for.
class SignalGuard {
 public:
  SignalGuard();
  void give_back() const;  // in the child
  // A descriptor that every signal sent to us is read from, see `next_signal`.
  [[nodiscard]] Result<int> open_descriptor() const;

 private:
  sigset_t mask_{};
  struct sigaction child_ended_{};
};

// The next signal that was sent to us; nothing: there is none now. What our own writing caused
// (SIGPIPE, SIGXFSZ) is nobody else's business and left out.
[[nodiscard]] std::optional<int> next_signal(int descriptor);

}  // namespace muster::agent
