// `muster run --again`: an earlier run, made ready to be started once more.
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
  Turn turn;     // of the attempt that comes next
  sys::Fd lock;  // keeps others from starting the run again as well
};

// Fails if the line has a program or a flag that cannot be added to --again.
[[nodiscard]] Result<void> check_beside_again(const CLI::App& command, const Program& program);

// `typed` are the words of the line with --again. Changes to the directory of the earlier run and
// waits until nothing of its last attempt is left on this machine.
[[nodiscard]] Result<EarlierRun> prepare_again(const std::string& id, const launch::Words& typed);

}  // namespace muster::cli
