// Summarises the outcomes of one command on many hosts, for people and programs. All pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "remote/transport.hpp"

namespace muster::remote {

// How muster should exit. `failure` is set if a host was not reached (which takes precedence),
// something failed on this side or a deadline passed. If it is not set, `code` is the highest exit
// code of the hosts.
struct Conclusion {
  std::optional<ErrorCode> failure;
  int code = 0;
};
[[nodiscard]] Conclusion conclusion(std::span<const Outcome> outcomes);

// The hosts that failed, grouped by equal reason, with hints; empty if none failed.
[[nodiscard]] std::string failures_text(std::span<const Outcome> outcomes);

// One JSON object on one line. Invalid UTF-8 is replaced.
[[nodiscard]] std::string to_json(const Outcome& outcome);

// Returns the command line for a host's login shell. A single word is a shell command already and
// is returned unchanged. Several words are quoted one by one and run below a shell, which reports a
// signal that ends the program as an exit code; ssh alone would not.
[[nodiscard]] std::string command_line(std::span<const std::string> words);

}  // namespace muster::remote
