// All exit codes of muster itself, in one table. docs/exit-codes.md explains them to users. The
// codes from 124 on are those of timeout(1), env(1) and shells.
#pragma once

#include <array>
#include <cerrno>
#include <string_view>

namespace muster {

constexpr int kExitUsage = 2;
constexpr int kExitTooSlow = 3;
constexpr int kExitUnreachable = 4;
constexpr int kExitMissing = 5;
constexpr int kExitRefused = 123;
constexpr int kExitTimedOut = 124;
constexpr int kExitOwnFault = 125;
constexpr int kExitCannotRun = 126;
constexpr int kExitNotFound = 127;

struct ExitCode {
  std::string_view code;
  std::string_view meaning;
};

// The codes and their meanings, as the man pages print them.
inline constexpr std::array kExitCodes = {
    ExitCode{"0", "Success."},
    ExitCode{"2", "Usage error: a wrong flag, file or host list."},
    ExitCode{"3", "muster bench measured less than the network should reach."},
    ExitCode{"4", "A host could not be reached."},
    ExitCode{"5", "A program that muster needs is missing, such as rsync."},
    ExitCode{"123", "The checks found an error, so the job cannot start."},
    ExitCode{"124", "A time limit passed, or the job stalled."},
    ExitCode{"125", "A host was lost, or the engine or muster itself failed."},
    ExitCode{"126", "The program exists but cannot be executed."},
    ExitCode{"127", "The program does not exist."},
    ExitCode{"130", "Ctrl-C ended the command."},
    ExitCode{"141", "The reader of muster's output closed the pipe."},
    ExitCode{"143", "SIGTERM ended the command."},
    ExitCode{"other",
             "The exit code of a rank, or of the command that muster exec ran; 128+N if signal N "
             "ended it."},
};

// The exit code for a failed exec with this errno.
[[nodiscard]] constexpr int exit_code_of_exec(int error_number) {
  return error_number == ENOENT ? kExitNotFound : kExitCannotRun;
}

}  // namespace muster
