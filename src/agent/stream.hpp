// One output of a rank's program.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/error.hpp"
#include "sys/file.hpp"
#include "sys/loop.hpp"

namespace muster::agent {

// What the program writes into and what its runner reads from.
struct OutputChannel {
  sys::Fd program_end;
  sys::Fd our_end;  // does not block
};

[[nodiscard]] Result<OutputChannel> open_pipe();
// A pseudo-terminal that changes no byte: C programs write into it line by line. Where none can be
// had, a pipe.
[[nodiscard]] Result<OutputChannel> open_terminal();

// Whether there is one to be had; without /dev/pts a pipe takes its place.
[[nodiscard]] bool has_terminals();

class Stream {
 public:
  // Gets what was read, and where in the stream it begins.
  using Take = std::function<void(sys::Stream which, std::uint64_t at, std::string_view bytes)>;

  Stream(sys::Stream which, sys::Fd source) : which_(which), source_(std::move(source)) {}

  // Reads once.
  void read_some(const Take& take);
  // Reads what is there, but not for ever: a daemon of the program's may go on writing.
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
