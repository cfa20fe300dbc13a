// Reads one output stream of a rank's program.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/error.hpp"
#include "sys/file.hpp"
#include "sys/loop.hpp"

namespace muster::agent {

// The end that the program writes to and the end that its runner reads from.
struct OutputChannel {
  sys::Fd program_end;
  sys::Fd our_end;  // non-blocking
};

[[nodiscard]] Result<OutputChannel> open_pipe();
// Opens a pseudo-terminal that passes bytes unchanged. With a terminal, C programs write line by
// line. Opens a pipe if no pseudo-terminal is available.
[[nodiscard]] Result<OutputChannel> open_terminal();

// Whether a pseudo-terminal is available. Without /dev/pts there is none.
[[nodiscard]] bool has_terminals();

class OutputReader {
 public:
  // Receives bytes of the stream `which`; `at` is the position of the first one.
  using Take = std::function<void(sys::Stream which, std::uint64_t at, std::string_view bytes)>;

  OutputReader(sys::Stream which, sys::Fd source) : which_(which), source_(std::move(source)) {}

  // Calls read(2) once.
  void read_some(const Take& take);
  // Reads what has arrived and closes the descriptor. Stops at a limit, because a child process may
  // write without end.
  void read_rest(const Take& take);

  [[nodiscard]] bool ended() const { return !source_.valid(); }
  [[nodiscard]] int descriptor() const { return source_.get(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  sys::Stream which_;
  sys::Fd source_;
  std::uint64_t bytes_ = 0;
};

}  // namespace muster::agent
