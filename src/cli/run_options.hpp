// The flags of `muster run`, which `muster submit` takes too.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/job_options.hpp"
#include "run/supervisor.hpp"

namespace muster::cli {

struct RunOptions {
  JobOptions job;
  run::Patience patience;
  std::vector<std::string> slurm_args;  // for salloc and sbatch
  bool dry_run = false;
  bool detach = false;
  bool force = false;
  bool quiet = false;
  bool json = false;
};

// All but --detach and --dry-run.
void add_run_options(CLI::App& command, RunOptions& options);

}  // namespace muster::cli
