// Tells whether the engine has read what was written into its pseudo-terminal.
//
// Nobody can ask a pseudo-terminal that on our side. But the process that reads it is our parent,
// one loop that waits for input only when nothing is left to read: once it has gone to sleep there
// after our write, it has read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <sys/types.h>

#include "sys/file.hpp"

namespace muster::agent {

class ReaderWatch {
 public:
  explicit ReaderWatch(pid_t reader);

  void before_write();
  // True: it slept since; false: not yet; nothing: it cannot be watched.
  [[nodiscard]] std::optional<bool> has_slept() const;

 private:
  struct State {
    bool asleep = false;
    std::uint64_t sleeps = 0;  // how often it went to sleep by itself
  };
  [[nodiscard]] std::optional<State> look() const;

  [[nodiscard]] bool waits_for_input() const;  // asleep it may also wait for who reads from it

  sys::Fd wait_channel_;  // /proc/PID/wchan of the reader
  sys::Fd status_;        // /proc/PID/status of the reader
  std::optional<State> before_ = std::nullopt;
};

}  // namespace muster::agent
