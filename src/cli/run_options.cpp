#include "cli/run_options.hpp"

namespace muster::cli {

namespace {

void add_restart_options(CLI::App& command, RunOptions& options) {
  constexpr double kForever = 1e9;
  command
      .add_option("--spares", options.spares,
                  "Hosts that take the place of bad ones, as -H has them; left alone until then")
      ->group(kBreaksGroup);
  command
      .add_option("--stall-after", options.patience.stall_after_s,
                  "Seconds without a word of any rank after which the job is stalled, and ended; "
                  "default: never")
      ->check(CLI::Range(1.0, kForever))
      ->group(kBreaksGroup);
  command
      .add_option("--back-off", options.back_off_s,
                  "At most so many seconds between an end and the next start; it begins with 1")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0))
      ->group(kBreaksGroup);
}

}  // namespace

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
  add_restart_options(command, options);
  command.add_flag("--force", options.force, "Start in spite of errors that were found");
  command.add_flag("-q,--quiet", options.quiet, "Only the ranks' output, and what went wrong");
}

CLI::Option* add_start_options(CLI::App& command, RunOptions& options) {
  auto* detach = command.add_flag("-d,--detach", options.detach,
                                  "Return once it runs; muster attach ID comes back to it");
  return command
      .add_flag("--dry-run", options.dry_run, "Print the engine's command and start nothing")
      ->excludes(detach);
}

}  // namespace muster::cli
