// One output stream of a rank's program.
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
// A pseudo-terminal that changes no bytes, so that C programs write line by line; a pipe if none is
// available.
[[nodiscard]] Result<OutputChannel> open_terminal();

// Whether a pseudo-terminal is available; without /dev/pts none is.
[[nodiscard]] bool has_terminals();

class OutputReader {
 public:
  // Receives the bytes that were read and their position in the stream.
  using Take = std::function<void(sys::Stream which, std::uint64_t at, std::string_view bytes)>;

  OutputReader(sys::Stream which, sys::Fd source) : which_(which), source_(std::move(source)) {}

  // Reads once.
  void read_some(const Take& take);
  // Reads what has arrived, up to a limit: a child process may keep writing for ever.
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
