// Tells whether the engine has read what was written into its pseudo-terminal.
//
// Nobody can ask a pseudo-terminal that on our side. But the process that reads it is our parent,
// one loop that sleeps only when nothing is left to read: once it has gone to sleep after our
// write, it has read it.
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

  sys::Fd status_;  // /proc/PID/status of the reader
  std::optional<State> before_ = std::nullopt;
};

}  // namespace muster::agent
