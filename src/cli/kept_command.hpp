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
  std::string config = {};  // absolute path of the muster.yaml that described it; empty: none did
};

// `config` may be relative to the current folder.
[[nodiscard]] Result<void> keep_command(const std::string& run_folder, const launch::Words& words,
                                        const Program& program, const std::string& config = {});
[[nodiscard]] Result<KeptCommand> read_command(const std::string& run_folder);

// "muster.yaml" -> "/home/me/project/muster.yaml"; an empty path stays one.
[[nodiscard]] std::string absolute_config(const std::string& path);

// As run::look_at_run. A run that never started has the command that was to be started.
[[nodiscard]] run::PastRun look_at_run(const std::string& base);

}  // namespace muster::cli
