// The flags of `muster run`, which `muster submit` has too.
#pragma once

#include <cstdint>
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
  std::vector<std::string> slurm_args;  // extra arguments for salloc and sbatch
  std::string spares;                   // a host expression
  double back_off_s = run::kLongestWait;
  std::string name;             // name of the run, for people; empty: it has only its id
  std::string on_end;           // shell command that gets the result of the run; empty: none
  std::string again;            // the run to start again; empty: a new one
  std::string status;           // file for the result of the run; empty: none
  std::uint64_t log_limit = 0;  // bytes of output that are stored; 0: no limit
  std::string script;  // file in which `submit` writes its script; empty: named after the program
  run::Show show;
  bool dry_run = false;
  bool detach = false;
  bool force = false;
  bool quiet = false;
  bool json = false;
};

// These three add the flags of `run`, those of them that `train` has too, and the flags of
// `submit`.
void add_run_options(CLI::App& command, RunOptions& options);
void add_start_options(CLI::App& command, RunOptions& options);
void add_submit_options(CLI::App& command, RunOptions& options);

// Adds the flags that all three commands have: those that describe the job.
void add_described_options(CLI::App& command, RunOptions& options);

// The flags of all three commands. If two have the same name, find_flag returns the first.
[[nodiscard]] std::span<const Flag> run_flags();

}  // namespace muster::cli
