#include "cli/run_options.hpp"

#include "trainflags/duration_option.hpp"

namespace muster::cli {

namespace {

using trainflags::takes_duration;

void add_restart_options(CLI::App& command, RunOptions& options) {
  command
      .add_option("--spares", options.spares,
                  "Extra hosts that stay idle until one of them replaces a lost host at a restart")
      ->type_name("HOSTS")
      ->group(kBreaksGroup);
  takes_duration(command.add_option("--back-off", options.back_off_s,
                                    "Longest wait before a restart; waits begin at 1 s and double"),
                 0, 3600)
      ->capture_default_str()
      ->group(kBreaksGroup);
}

}  // namespace

void add_run_options(CLI::App& command, RunOptions& options) {
  add_job_options(command, options.job);
  takes_duration(command.add_option("--timeout", options.patience.timeout_s,
                                    "End the run after this time, which includes restarts"),
                 0.1)
      ->group(kBreaksGroup);
  takes_duration(command.add_option(
                     "--stall-after", options.patience.stall_after_s,
                     "End the run if no rank has printed anything for this long; default: never"),
                 1)
      ->group(kBreaksGroup);
  takes_duration(
      command.add_option(
          "--lost-after", options.patience.lost_after_s,
          "Treat a host as lost, and end or restart the run, if it has not answered for this long"),
      3 * agent::kBeatEverySeconds)
      ->capture_default_str()
      ->group(kBreaksGroup);
  takes_duration(
      command.add_option(
          "--orphan-after", options.patience.orphan_after_s,
          "On a host that has lost contact with this machine, end the ranks after this long"),
      2.5 * agent::kBeatEverySeconds)
      ->capture_default_str()
      ->group(kBreaksGroup);
  command
      .add_option("--slurm-arg", options.slurm_args,
                  "Extra argument for salloc or sbatch, such as --partition=gpu; may be repeated")
      ->take_all()
      ->expected(1)
      ->group(kEngineGroup);
  add_restart_options(command, options);
  command.add_flag("--force", options.force, "Start even if the checks found errors");
  command.add_flag("-q,--quiet", options.quiet, "Print only the ranks' output and errors");
}

CLI::Option* add_start_options(CLI::App& command, RunOptions& options) {
  auto* detach =
      command.add_flag("-d,--detach", options.detach,
                       "Return as soon as the job runs; muster attach shows its output later");
  return command
      .add_flag("--dry-run", options.dry_run,
                "Print the engine's command without starting anything")
      ->excludes(detach);
}

}  // namespace muster::cli
