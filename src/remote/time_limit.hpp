// A command that the host itself ends when its time is over, also if the connection or muster is
// gone by then. All pure.
#pragma once

#include <chrono>
#include <string>

#include "remote/transport.hpp"

namespace muster::remote {

// The line for a host's login shell that runs `line` in the same kind of shell, for at most so
// long. Then everything that it started gets SIGTERM and, two seconds later, SIGKILL: the
// descendants of the command, and processes that have left it but have inherited its environment,
// in which `id` marks them. Processes of a command that ended in time and released its output are
// left alone. Needs GNU's grep there.
[[nodiscard]] std::string limited_line(const std::string& line, std::chrono::seconds limit,
                                       const std::string& id);

// How long a host may take longer than the limit: to log in, and to end the command.
constexpr std::chrono::seconds kBeyondLimit{20};

// The outcome of a limited_line: an end with `timed_out` if the limit passed. Its `code` is kLeft
// if some of the processes could not be ended.
constexpr int kEnded = 221;
constexpr int kLeft = 222;
[[nodiscard]] Outcome read_limited(Outcome outcome, const std::string& id);

// Ends the standard error of a command that ended in time with one of these two codes.
[[nodiscard]] std::string own_code_mark(const std::string& id);

}  // namespace muster::remote
