// The command line of a run. It is stored in the run's folder, so that the run can be started
// again.
#pragma once

#include <string>

#include "cli/command.hpp"
#include "launch/batch.hpp"
#include "run/past_run.hpp"

namespace muster::cli {

struct KeptCommand {
  std::string folder;   // the directory in which it was started
  launch::Words words;  // of `muster run`, up to "--"; -x NAME=value is stored as -x NAME
  Program program;
  // Absolute path of the muster.yaml that was used; empty if there was none.
  std::string config = {};
};

// `config` may be relative to the current directory.
[[nodiscard]] Result<void> keep_command(const std::string& run_folder, const launch::Words& words,
                                        const Program& program, const std::string& config = {});
[[nodiscard]] Result<KeptCommand> read_command(const std::string& run_folder);

// Turns "muster.yaml" into "/home/me/project/muster.yaml". An empty path stays empty.
[[nodiscard]] std::string absolute_config(const std::string& path);

// Like run::look_at_run. For a run that never started, adds the command that was to be started.
[[nodiscard]] run::PastRun look_at_run(const std::string& base);

}  // namespace muster::cli
