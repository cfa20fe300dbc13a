// Runs programs and collects what they said, many at once, each with a deadline.
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
  std::vector<std::string> env = {};  // "NAME=value", on top of our own environment
  // What the program reads on standard input; null: /dev/null. Shared, because a fan-out sends the
  // same bytes to every host.
  std::shared_ptr<const std::string> input = nullptr;
  std::chrono::milliseconds deadline = std::chrono::minutes(1);
  // When set, it gets all output and Ended keeps only the last kTailBytes or so of each stream, so
  // that a program which talks for days costs no memory. Otherwise KeptOutput is the limit.
  OnOutput on_output = nullptr;
};

constexpr std::size_t kTailBytes = std::size_t{16} << 10;

// How much output is kept, in bytes. What comes after that is read and dropped.
struct KeptOutput {
  std::size_t of_stream = std::size_t{32} << 20;
  std::size_t of_all = std::size_t{512} << 20;  // commands that were started together
};

// How a program ended, and its output.
struct Ended {
  int code = 0;            // exit code, meaningful when signal is 0
  int signal = 0;          // the signal that ended it
  bool timed_out = false;  // the deadline passed: it got SIGTERM and, a second later, SIGKILL
  std::string out;
  std::string err;
  std::uint64_t dropped = 0;  // bytes of output beyond KeptOutput

  [[nodiscard]] bool ok() const { return code == 0 && signal == 0 && !timed_out; }
};

// "exit code 3", "signal 11 (Segmentation fault)", "no answer within its deadline".
[[nodiscard]] std::string to_text(const Ended& ended);

// An Error only when the program could not be started.
[[nodiscard]] Result<Ended> run(const Command& command);

// This process becomes the program, which is looked up in PATH; returns only if that failed.
[[nodiscard]] Error become(const std::vector<std::string>& argv);

// All commands, at most `at_most` at a time, one result each in the same order. `on_end`, when
// given, is called with the index as each ends. Output after a program's end (a descendant that
// keeps the pipe) is waited for one second and then given up.
// Cost: one process and three pipes for each running command.
[[nodiscard]] std::vector<Result<Ended>> run_all(
    std::span<const Command> commands, std::size_t at_most,
    const std::function<void(std::size_t, const Result<Ended>&)>& on_end = {},
    const KeptOutput& most = {});

}  // namespace muster::sys
