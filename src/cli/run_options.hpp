// The flags of `muster run`, which `muster submit` takes too.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/job_options.hpp"
#include "run/restart.hpp"
#include "run/show.hpp"
#include "run/supervisor.hpp"

namespace muster::cli {

struct RunOptions {
  JobOptions job;
  run::Patience patience;
  std::vector<std::string> slurm_args;  // for salloc and sbatch
  std::string spares;                   // a host expression
  double back_off_s = run::kLongestWait;
  std::string name;    // of the run, for people; empty: it has only its id
  std::string on_end;  // a shell command that is told how the run ended; empty: none
  std::string again;   // the run to start again; empty: a new one
  std::string status;  // the file that tells how the run ended; empty: none
  std::string script;  // where `submit` writes its script; empty: named after the program
  run::Show show;
  bool dry_run = false;
  bool detach = false;
  bool force = false;
  bool quiet = false;
  bool json = false;
};

// The flags of `run`; of `train`, which lacks those that only `run` has; of `submit`.
void add_run_options(CLI::App& command, RunOptions& options);
void add_start_options(CLI::App& command, RunOptions& options);
void add_submit_options(CLI::App& command, RunOptions& options);

// The flags that they have in common: those that describe the job.
void add_described_options(CLI::App& command, RunOptions& options);

// All flags of the three; where two share a name, only their --help differs.
[[nodiscard]] std::span<const Flag> run_flags();

}  // namespace muster::cli
