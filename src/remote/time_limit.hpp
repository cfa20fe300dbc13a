// Commands with a time limit that the host itself enforces, even if the connection or muster is
// gone by then. All pure.
#pragma once

#include <chrono>
#include <string>

#include "remote/transport.hpp"

namespace muster::remote {

// Returns the line for a host's login shell that runs `line` in the same kind of shell, for at most
// `limit`. After that, everything that the command started gets SIGTERM and, two seconds later,
// SIGKILL: its descendants, and also detached processes, which are recognised by `id` in the
// environment that they inherited. If the command has ended in time, processes that it left behind
// are not touched, provided that they do not hold its output open. Needs GNU grep on the host.
[[nodiscard]] std::string limited_line(const std::string& line, std::chrono::seconds limit,
                                       const std::string& id);

// How much longer than the limit a host may take, to log in and to end the command.
constexpr std::chrono::seconds kBeyondLimit{20};

// Reads the outcome of a limited_line. Sets `timed_out` if the limit passed. `code` is then kEnded,
// or kLeft if some processes could not be ended.
constexpr int kEnded = 221;
constexpr int kLeft = 222;
[[nodiscard]] Outcome read_limited(Outcome outcome, const std::string& id);

// A command that ended in time may itself have exited with one of these two codes. Then this mark
// is at the end of its standard error.
[[nodiscard]] std::string own_code_mark(const std::string& id);

}  // namespace muster::remote
