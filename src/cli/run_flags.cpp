#include "cli/run_options.hpp"
#include "cli/size_option.hpp"
#include "run/folder.hpp"
#include "run/log_limit.hpp"

namespace muster::cli {
namespace {

using RunRow = Row<RunOptions>;

constexpr const char* kLaterGroup = "Finding the run again";

constexpr RunRow kRunFlags[] = {
    {{.names = "--timeout",
      .value = "SECONDS",
      .group = kBreaksGroup,
      .help = "End the run after this time, which includes restarts"},
     [](const Adder& flag, RunOptions& to) { return flag.duration(to.patience.timeout_s, 0.1); }},
    {{.names = "--stall-after",
      .value = "SECONDS",
      .group = kBreaksGroup,
      .help = "End the run if no rank has printed anything for this long; default: never"},
     [](const Adder& flag, RunOptions& to) { return flag.duration(to.patience.stall_after_s, 1); }},
    {{.names = "--idle-after",
      .value = "SECONDS",
      .group = kBreaksGroup,
      .help = "Inspect the job, as muster why does, if no rank has printed, communicated or "
              "computed for this long; 0: never"},
     [](const Adder& flag, RunOptions& to) {
       return flag.duration(to.patience.idle_after_s, 0)->capture_default_str();
     }},
    {{.names = "--end-if-idle",
      .group = kBreaksGroup,
      .help = "End such an idle run, so that --max-restarts can start it again"},
     [](const Adder& flag, RunOptions& to) { return flag.on(to.patience.end_if_idle); }},
    {{.names = "--lost-after",
      .value = "SECONDS",
      .group = kBreaksGroup,
      .help =
          "Treat a host as lost, and end or restart the run, if it has not answered for this long"},
     [](const Adder& flag, RunOptions& to) {
       return flag.duration(to.patience.lost_after_s, 3 * agent::kBeatEverySeconds)
           ->capture_default_str();
     }},
    {{.names = "--orphan-after",
      .value = "SECONDS",
      .group = kBreaksGroup,
      .help = "On a host that has lost contact with this machine, end the ranks after this long"},
     [](const Adder& flag, RunOptions& to) {
       return flag.duration(to.patience.orphan_after_s, 2.5 * agent::kBeatEverySeconds)
           ->capture_default_str();
     }},
    {{.names = "--slurm-arg",
      .value = "ARG",
      .group = kEngineGroup,
      .in_slurm_job = false,
      .help = "Extra argument for salloc or sbatch, such as --partition=gpu; may be repeated"},
     [](const Adder& flag, RunOptions& to) { return flag.list(to.slurm_args); }},
    {{.names = "--spares",
      .value = "HOSTS",
      .group = kBreaksGroup,
      .beside_again = true,
      .help = "Extra hosts that stay idle until one of them replaces a lost host at a restart"},
     [](const Adder& flag, RunOptions& to) { return flag.value(to.spares); }},
    {{.names = "--back-off",
      .value = "SECONDS",
      .group = kBreaksGroup,
      .help = "Longest wait before a restart; waits begin at 1 s and double"},
     [](const Adder& flag, RunOptions& to) {
       return flag.duration(to.back_off_s, 0, 3600)->capture_default_str();
     }},
    {{.names = "--name",
      .value = "NAME",
      .group = kLaterGroup,
      .help = "Name of the run, which the other commands take in place of its id"},
     [](const Adder& flag, RunOptions& to) {
       return flag.value(to.name)->check(CLI::Validator(run::wrong_name, ""));
     }},
    {{.names = "--log-limit",
      .value = "SIZE",
      .group = kLaterGroup,
      .help = "Store at most this much output, such as 2G, and drop the oldest beyond it; default: "
              "no limit"},
     [](const Adder& flag, RunOptions& to) {
       return takes_size(flag.value(to.log_limit))
           ->check(CLI::Validator(
               [](const std::string& bytes) {
                 const bool is_enough = std::stoull(bytes) >= run::LogLimit::kSmallest;
                 return std::string(is_enough ? "" : "the limit must be at least 1M");
               },
               ""));
     }},
    {{.names = "--on-end",
      .value = "COMMAND",
      .group = kLaterGroup,
      .help = "Shell command to start here when the run has ended; it reads the result as JSON"},
     [](const Adder& flag, RunOptions& to) { return flag.value(to.on_end); }},
    {{.names = "--status",
      .value = "PATH",
      .group = kBreaksGroup,
      .kept = false,
      .beside_again = true,
      .help = "Write to this file, as JSON, how the run ended and whose exit code it is: a rank's "
              "or muster's own"},
     [](const Adder& flag, RunOptions& to) { return flag.value(to.status); }},
    {{.names = "--show",
      .value = "WHAT",
      .help =
          "Whose output to show: all, first-per-host, or ranks such as 0,8. 'folded' shows equal "
          "lines of several ranks once, the default on a terminal"},
     [](const Adder& flag, RunOptions& to) {
       return flag.text([&to](const std::string& text) {
         auto show = run::parse_show(text);
         if (!show) throw CLI::ValidationError(show.error().what);
         to.show = *std::move(show);
       });
     }},
    {{.names = "--force", .help = "Start even if the checks found errors"},
     [](const Adder& flag, RunOptions& to) { return flag.on(to.force); }},
    {{.names = "-q,--quiet",
      .foreign = "-Q",
      .beside_again = true,
      .help = "Print only the ranks' output and errors"},
     [](const Adder& flag, RunOptions& to) { return flag.on(to.quiet); }},
};

constexpr RunRow kStartFlags[] = {
    {{.names = "-d,--detach",
      .kept = false,
      .beside_again = true,
      .help = "Return as soon as the job runs; muster attach shows its output later"},
     [](const Adder& flag, RunOptions& to) { return flag.on(to.detach); }},
    {{.names = "--dry-run",
      .kept = false,
      .in_slurm_job = false,
      .help = "Print the engine's command without starting anything"},
     [](const Adder& flag, RunOptions& to) { return flag.on(to.dry_run)->excludes("--detach"); }},
};

constexpr RunRow kOnlyRunFlags[] = {
    {{.names = "--json", .help = "With --dry-run: print everything that muster decided as JSON"},
     [](const Adder& flag, RunOptions& to) { return flag.on(to.json)->needs("--dry-run"); }},
    {{.names = "--again",
      .value = "RUN",
      .if_left_out = "last",
      .kept = false,
      .help = "Continue an earlier run that did not succeed, with the same command line; without "
              "RUN, the last run. Only --max-restarts, --spares, --status, -d and -q can be added"},
     [](const Adder& flag, RunOptions& to) { return flag.value(to.again); }},
};

constexpr RunRow kSubmitFlags[] = {
    {{.names = "-o,--script",
      .value = "PATH",
      .in_slurm_job = false,
      .help = "Where to write the script; default: ./PROGRAM.sbatch"},
     [](const Adder& flag, RunOptions& to) { return flag.value(to.script); }},
};

// The same flag as in kStartFlags, with a help of its own. Not in run_flags().
constexpr RunRow kSubmitDryRun[] = {
    {{.names = "--dry-run",
      .kept = false,
      .in_slurm_job = false,
      .help = "Print the script without submitting it"},
     [](const Adder& flag, RunOptions& to) { return flag.on(to.dry_run); }},
};

}  // namespace

void add_described_options(CLI::App& command, RunOptions& options) {
  add_job_options(command, options.job);
  add_flags<RunOptions>(command, kRunFlags, options);
}

void add_start_options(CLI::App& command, RunOptions& options) {
  add_described_options(command, options);
  add_flags<RunOptions>(command, kStartFlags, options);
}

void add_run_options(CLI::App& command, RunOptions& options) {
  add_start_options(command, options);
  add_flags<RunOptions>(command, kOnlyRunFlags, options);
}

void add_submit_options(CLI::App& command, RunOptions& options) {
  add_described_options(command, options);
  add_flags<RunOptions>(command, kSubmitFlags, options);
  add_flags<RunOptions>(command, kSubmitDryRun, options);
}

std::span<const Flag> run_flags() {
  static const std::vector<Flag> all = [] {
    std::vector<Flag> flags;
    const auto add = [&](const auto& rows) {
      for (const auto& row : rows) flags.push_back(row.flag);
    };
    add(cluster_flags());
    add(job_flags());
    add(kRunFlags);
    add(kStartFlags);
    add(kOnlyRunFlags);
    add(kSubmitFlags);
    return flags;
  }();
  return all;
}

}  // namespace muster::cli
