// One output of a rank's program on its way to a file, byte for byte, and to the engine, in
// labelled lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <poll.h>

#include "agent/line_blocks.hpp"
#include "agent/sink.hpp"
#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::agent {

// What the program writes into and what the shim reads from.
struct OutputChannel {
  sys::Fd program_end;
  sys::Fd shim_end;  // does not block
  bool terminal = false;
};

// A pseudo-terminal that changes no byte when `like` is a terminal, so that C programs write line
// by line as they would there; else, and where none is to be had, a pipe.
[[nodiscard]] Result<OutputChannel> open_channel(int like);

class Stream {
 public:
  // `file` may be none; `engine` is not owned.
  Stream(sys::Fd source, sys::Fd file, int engine, std::string label);

  // Reads what there is: once, or (after the program's end) while there is more.
  void read_some();
  void read_rest();
  // Hands the engine what it takes now.
  void send();

  // What to wait for: fills two entries. `after_end`: more may pile up, nobody is slowed down.
  void fill(pollfd* entries, bool after_end) const;
  void handle(const pollfd* entries);
  // How long until `send` should be tried again; negative: only when poll says so.
  [[nodiscard]] std::chrono::nanoseconds pause() const;

  [[nodiscard]] bool ended() const { return !source_.valid(); }
  [[nodiscard]] bool done() const { return ended() && lines_.waiting() == 0; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Why the file is no longer written (errno); told once, then 0, as when all is well.
  [[nodiscard]] int take_file_error() { return std::exchange(file_error_, 0); }
  // A line of our own, with its newline, for the engine alone.
  void say(std::string_view line) { lines_.say(line); }

 private:
  void write_file(std::string_view bytes);
  void end();

  sys::Fd source_;
  sys::Fd file_;
  Sink sink_;
  LineBlocks lines_;
  std::uint64_t bytes_ = 0;
  int file_error_ = 0;
};

}  // namespace muster::agent
