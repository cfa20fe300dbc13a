#include "cli/run_command.hpp"

#include <chrono>
#include <filesystem>

#include <fmt/format.h>

#include "cli/again.hpp"
#include "cli/command.hpp"
#include "cli/config_file.hpp"
#include "cli/detach.hpp"
#include "cli/first_pod.hpp"
#include "cli/kept_command.hpp"
#include "cli/reach.hpp"
#include "cli/run_help.hpp"
#include "cli/run_job.hpp"
#include "cli/run_options.hpp"
#include "cli/run_status.hpp"
#include "cli/slurm_job.hpp"
#include "run/folder.hpp"

namespace muster::cli {
namespace {

Result<run::Ending> start_job(const RunOptions& options, const launch::Words& words,
                              const Program& program, const run::Turn& turn) {
  if (program.empty()) return unexpected(no_program("muster run -H n[1-3] train.py"));
  if (options.patience.end_if_idle && options.patience.idle_after_s <= 0) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "--end-if-idle has no effect with --idle-after 0",
                            .hint = "--idle-after 300 calls a job idle after 5 minutes"});
  }
  if (needs_allocation(options.job.job)) {
    MUSTER_TRY(const bool there, in_allocation());
    if (!there && turn.number > 0) {
      return unexpected(Error{
          .code = ErrorCode::kUsage,
          .what =
              "the run used hosts of a Slurm job, but muster does not run inside an allocation now",
          .hint =
              fmt::format("start the run again in an allocation: salloc -N 2 muster run --again {}",
                          turn.base)});
    }
    if (!there) {
      MUSTER_TRY(const int code, allocate_and_run(options, words, program));
      return run::Ending{.code = code, .told = true};
    }
  }
  MUSTER_CHECK(begin_status(options.status, turn.base));
  if (options.detach) {
    if (const auto code = detach(turn.id())) {  // in the user's process, after the start
      if (!*code) return unexpected(code->error());
      return run::Ending{.code = **code, .told = true};
    }
    // The folder exists before the hosts are checked, and `runs` lists it, so store the command
    // now.
    if (turn.number == 0) {
      MUSTER_CHECK(keep_command(run::runs_folder() + "/" + turn.id(), words, program,
                                options.job.cluster.file->path));
    }
  }
  MUSTER_TRY(const auto signal, wait_for_first_pod(options.job));
  if (signal) return run::Ending{.code = 128 + *signal};
  return run_attempts(options, words, program, turn);
}

Result<int> run_job(const RunOptions& options, const launch::Words& words, const Program& program,
                    const run::Turn& turn) {
  return conclude(start_job(options, words, program, turn), options.status, turn.base);
}

Result<int> start_again(const RunOptions& options, const launch::Words& words) {
  MUSTER_TRY(EarlierRun earlier, prepare_again(options.again, words));
  earlier.options.status = options.status;
  return run_job(earlier.options, earlier.command.words, earlier.command.program, earlier.turn);
}

Result<int> run_command(RunOptions options, const launch::Words& words, const Program& program) {
  MUSTER_TRY(options.status, prepare_status(options.status));
  if (!options.again.empty()) return start_again(options, words);
  return run_job(options, words, program, {.base = run::new_run_id(), .name = options.name});
}

}  // namespace

std::string own_program(const char* name) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto beside = self.parent_path() / name;
  return !failed && std::filesystem::exists(beside, failed) ? beside.string() : name;
}

Result<int> run_program(const RunOptions& options, const std::vector<std::string>& words,
                        const Program& program) {
  return run_command(options, words, program);
}

void add_run(CLI::App& app, Action& action, const std::vector<std::string>& words,
             const Program& program) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Run a program on all hosts as one distributed job");
  command->formatter(help_formatter("PROGRAM [ARGUMENTS]"));
  command->footer(run_footer());
  add_run_options(*command, *options);
  command->callback([options, command, &action, &words, &program] {
    action = [options, command, &words, &program]() -> Result<int> {
      if (!options->again.empty()) {
        MUSTER_CHECK(check_beside_again(*command, program));
      } else {
        MUSTER_CHECK(take_config(*command, options->job.cluster));
      }
      return run_command(*options, {words.begin() + 1, words.end()}, program);
    };
  });
}

}  // namespace muster::cli
