#include "cli/run_options.hpp"

namespace muster::cli {

void add_run_options(CLI::App& command, RunOptions& options) {
  add_job_options(command, options.job);
  constexpr double kLong = 1e9;
  command
      .add_option("--timeout", options.patience.timeout_s, "Seconds after which the run is ended")
      ->check(CLI::Range(0.1, kLong));
  command
      .add_option("--lost-after", options.patience.lost_after_s,
                  "Seconds without a sign of life after which a host is lost, and the run ended")
      ->capture_default_str()
      ->check(CLI::Range(3 * agent::kBeatEverySeconds, kLong));
  command
      .add_option("--orphan-after", options.patience.orphan_after_s,
                  "Seconds after which hosts that cannot reach the launcher end their ranks")
      ->capture_default_str()
      ->check(CLI::Range(2.5 * agent::kBeatEverySeconds, kLong));
  command
      .add_option("--slurm-arg", options.slurm_args,
                  "A word more for salloc or sbatch, '--partition=gpu'; may be repeated")
      ->take_all()
      ->expected(1);
  command.add_flag("--force", options.force, "Start in spite of errors that were found");
  command.add_flag("-q,--quiet", options.quiet, "Only the ranks' output, and what went wrong");
}

}  // namespace muster::cli
