// The flags of `muster run`, which `muster submit` takes too.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/job_options.hpp"
#include "run/restart.hpp"
#include "run/supervisor.hpp"

namespace muster::cli {

struct RunOptions {
  JobOptions job;
  run::Patience patience;
  std::vector<std::string> slurm_args;  // for salloc and sbatch
  std::string spares;                   // a host expression
  double back_off_s = run::kLongestWait;
  std::string again;  // the run to start again; empty: a new one
  bool dry_run = false;
  bool detach = false;
  bool force = false;
  bool quiet = false;
  bool json = false;
};

// All but --detach and --dry-run, which `submit` does not take.
void add_run_options(CLI::App& command, RunOptions& options);
// Those two; --dry-run is returned.
CLI::Option* add_start_options(CLI::App& command, RunOptions& options);

}  // namespace muster::cli
