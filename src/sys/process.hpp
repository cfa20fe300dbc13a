// Runs programs, many at a time, each with a deadline, and collects their output.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "sys/loop.hpp"

namespace muster::sys {

struct Command {
  std::vector<std::string> argv;      // argv[0] is looked up in PATH
  std::vector<std::string> env = {};  // "NAME=value", added to our own environment
  // The program's standard input; null: /dev/null. Shared, because a command on many hosts sends
  // the same bytes to each.
  std::shared_ptr<const std::string> input = nullptr;
  std::chrono::milliseconds deadline = std::chrono::minutes(1);
  // If set, on_output gets all output, and Ended keeps only about the last kTailBytes of each
  // stream, so that programs that print for days need little memory. Otherwise Ended keeps the
  // output up to the limits of KeptOutput.
  OnOutput on_output = nullptr;
};

constexpr std::size_t kTailBytes = std::size_t{16} << 10;

// How many bytes of output are kept. Output beyond that is read and dropped.
struct KeptOutput {
  std::size_t of_stream = std::size_t{32} << 20;
  std::size_t of_all = std::size_t{512} << 20;  // for all commands started together
};

// How a program ended, and its output.
struct Ended {
  int code = 0;            // exit code, meaningful when signal is 0
  int signal = 0;          // the signal that ended it
  bool timed_out = false;  // it missed the deadline: it got SIGTERM and, a second later, SIGKILL
  std::string out;
  std::string err;
  std::uint64_t dropped = 0;  // bytes of output beyond KeptOutput

  [[nodiscard]] bool ok() const { return code == 0 && signal == 0 && !timed_out; }
};

// Returns "exit code 3", "signal 11 (Segmentation fault)" or "no answer within the time limit".
[[nodiscard]] std::string to_text(const Ended& ended);

// Fails only if the program could not be started.
[[nodiscard]] Result<Ended> run(const Command& command);

// Replaces this process with the program, which is looked up in PATH. Returns only on failure.
[[nodiscard]] Error become(const std::vector<std::string>& argv);

// Runs all commands, at most `at_most` at a time, and returns one result each in the same order.
// Calls `on_end`, if given, with the index of each command that ends. If a descendant keeps a
// program's output open, reads that output for one more second. Cost: one process and three pipes
// for each running command.
[[nodiscard]] std::vector<Result<Ended>> run_all(
    std::span<const Command> commands, std::size_t at_most,
    const std::function<void(std::size_t, const Result<Ended>&)>& on_end = {},
    const KeptOutput& most = {});

}  // namespace muster::sys
