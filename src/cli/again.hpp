// `muster run --again`: prepares an earlier run to be started again.
#pragma once

#include <string>

#include "cli/attempt.hpp"
#include "cli/kept_command.hpp"
#include "cli/run_options.hpp"
#include "sys/file.hpp"

namespace muster::cli {

struct EarlierRun {
  RunOptions options;
  KeptCommand command;
  Turn turn;     // the attempt that comes next
  sys::Fd lock;  // held, so that no other process starts the same run
};

// Fails if the command line has a program, or a flag that cannot be combined with --again.
[[nodiscard]] Result<void> check_beside_again(const CLI::App& command, const Program& program);

// Reads the command line of the earlier run `id`. `typed` are the words that the user typed
// together with --again. Changes to the directory in which the run was started, and waits until
// nothing of its last attempt is left on this machine.
[[nodiscard]] Result<EarlierRun> prepare_again(const std::string& id, const launch::Words& typed);

}  // namespace muster::cli
