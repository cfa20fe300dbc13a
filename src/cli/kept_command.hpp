// The command line of a run, kept in its folder so that it can be started again.
#pragma once

#include <string>

#include "cli/command.hpp"
#include "launch/batch.hpp"
#include "run/past_run.hpp"

namespace muster::cli {

struct KeptCommand {
  std::string folder;   // where it was started
  launch::Words words;  // of `muster run`, up to "--"; of -x NAME=value only the name
  Program program;
};

[[nodiscard]] Result<void> keep_command(const std::string& run_folder, const launch::Words& words,
                                        const Program& program);
[[nodiscard]] Result<KeptCommand> read_command(const std::string& run_folder);

// As run::look_at_run. A run that never started has the command that was to be started.
[[nodiscard]] run::PastRun look_at_run(const std::string& base);

}  // namespace muster::cli
