// The exit codes that muster shares with timeout(1), env(1) and shells, so that scripts can tell
// its own failures from those of the program. Codes for errors before a program starts are in
// cli/main.cpp.
#pragma once

#include <cerrno>

namespace muster {

constexpr int kExitTimedOut = 124;   // a time limit passed
constexpr int kExitOwnFault = 125;   // muster failed, or lost a host
constexpr int kExitCannotRun = 126;  // the program exists but cannot be executed
constexpr int kExitNotFound = 127;   // the program does not exist

// For a failed exec, from its errno.
[[nodiscard]] constexpr int exit_code_of_exec(int error_number) {
  return error_number == ENOENT ? kExitNotFound : kExitCannotRun;
}

}  // namespace muster
