#include "cli/run_command.hpp"

#include <chrono>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/exit_code.hpp"
#include "cli/command.hpp"
#include "cli/detach.hpp"
#include "cli/kept_command.hpp"
#include "cli/reach.hpp"
#include "cli/run_job.hpp"
#include "cli/run_options.hpp"
#include "cli/slurm_job.hpp"
#include "run/folder.hpp"
#include "run/keeper.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

Result<int> run_job(const RunOptions& options, const launch::Words& words, const Program& program,
                    const run::Turn& turn) {
  if (program.empty()) return unexpected(no_program("muster run -H n[1-3] train.py"));
  if (options.job.job.engine == "slurm") {
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
    if (!there) return allocate_and_run(options, words, program);
  }
  if (options.detach) {
    if (const auto code = detach(turn.id())) return *code;  // in the parent, after the start
  }
  return run_attempts(options, words, program, turn);
}

void declare(CLI::App& command, RunOptions& options) {
  add_run_options(command, options);
  auto* dry_run = add_start_options(command, options);
  command
      .add_flag("--json", options.json,
                "With --dry-run: print everything that muster decided as JSON")
      ->needs(dry_run);
  command
      .add_option("--again", options.again,
                  "Start an earlier run again, with the same command line; without ID, the last "
                  "run. Only --max-restarts, --spares, -d and -q can be added")
      ->type_name("ID");
}

// What may stand beside --again; all else is as it was.
Result<void> check_beside_again(const CLI::App& command, const Program& program) {
  std::string wrong = program.empty() ? "" : "--";
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const bool fits = name == "--again" || name == "--max-restarts" || name == "--spares" ||
                      name == "-d,--detach" || name == "--detach" || name == "--quiet" ||
                      name == "-q,--quiet";
    if (option->count() > 0 && !fits) wrong = name;
  }
  if (wrong.empty()) return {};
  return unexpected(
      Error{.code = ErrorCode::kUsage,
            .what = fmt::format("--again repeats the earlier command line, so {} cannot be changed",
                                wrong == "--" ? "the program" : wrong),
            .hint = "leave out what you added, or type the whole command line without --again"});
}

// Nothing of the last attempt is left here: where muster was killed its keeper ends it.
Result<void> await_end(const std::string& id) {
  constexpr std::chrono::seconds kKeeperTakes{20};
  const auto until = std::chrono::steady_clock::now() + kKeeperTakes;
  while (run::is_being_ended(id)) {
    if (std::chrono::steady_clock::now() > until) {
      return unexpected(Error{
          .what = fmt::format("muster is still ending the processes of {} on this machine", id),
          .hint = "try again later; if the run's mpirun does not end, look for it with: ps x"});
    }
    (void)::poll(nullptr, 0, 50);
  }
  return {};
}

// For as long as this process lives: two people may have the same thought.
Result<sys::Fd> lock_run(const std::string& base) {
  const std::string path = run::runs_folder() + "/" + base;
  sys::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return unexpected(system_error("cannot open the run's folder", path));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  return unexpected(
      Error{.code = ErrorCode::kUsage,
            .what = fmt::format("another muster process is already starting {} again", base),
            .hint = fmt::format("to follow the run: muster attach {}", base)});
}

// Not what ended well, and not what another machine may still look after.
Result<void> may_start_again(const std::string& folder, const std::string& id) {
  const std::string elsewhere = run::owner_elsewhere(folder);
  const auto record = sys::read_file(folder + "/record.json");
  if (!record && !elsewhere.empty()) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = fmt::format("{} was started on {} and may still be running", id, elsewhere),
              .hint = fmt::format("run this on that machine: muster run --again {}", id)});
  }
  if (!record) return {};
  const auto summary = run::parse_summary(*record);
  if (!summary || summary->code != 0) return {};
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = fmt::format("{} succeeded, so there is nothing to continue", id),
                          .hint = "muster runs lists the other runs"});
}

Result<int> start_again(const RunOptions& given) {
  MUSTER_TRY(const std::string found, run::find_run(given.again));
  const std::string base = run::parse_attempt(found.substr(found.rfind('/') + 1)).base;
  const int latest = run::latest_attempt(base);
  const std::string last = run::attempt_id(base, latest);
  const std::string folder = run::runs_folder() + "/" + last;
  if (run::living_owner(folder) != 0) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("{} is still running", last),
                            .hint = fmt::format("to end the run: muster stop {}", base)});
  }
  MUSTER_CHECK(may_start_again(folder, last));
  MUSTER_TRY(const sys::Fd lock, lock_run(base));
  MUSTER_TRY(const KeptCommand kept, read_command(run::runs_folder() + "/" + base));
  if (::chdir(kept.folder.c_str()) != 0) {
    return unexpected(
        system_error("cannot change to the directory where the run was started", kept.folder));
  }
  CLI::App command;
  RunOptions options;
  declare(command, options);
  try {
    command.parse(launch::Words(kept.words.rbegin(), kept.words.rend()));
  } catch (const CLI::ParseError& error) {
    return unexpected(Error{
        .what =
            std::string("this muster does not understand the run's command line: ") + error.what(),
        .where = {.file = found}});
  }
  options.detach = given.detach;
  options.quiet = options.quiet || given.quiet;
  if (given.job.job.max_restarts > 0) options.job.job.max_restarts = given.job.job.max_restarts;
  if (!given.spares.empty()) options.spares = given.spares;
  MUSTER_CHECK(await_end(last));
  return run_job(options, kept.words, kept.program, {.base = base, .number = latest + 1});
}

// Only muster's own codes here: a job's are its own.
Result<int> run_command(const RunOptions& options, const launch::Words& words,
                        const Program& program) {
  auto code = options.again.empty() ? run_job(options, words, program, {.base = run::new_run_id()})
                                    : start_again(options);
  if (!code && code.error().code != ErrorCode::kUsage) {
    sys::print_err("muster: {}\n", to_text(code.error()));
    return kExitOwnFault;
  }
  return code;
}

constexpr auto kMoreOfRun =
    "Without -H, --hostfile or muster.yaml the job runs on this machine. Many flags of torchrun, "
    "mpirun and srun work too; for the others, muster tells you its own flag.\n\n"
    "Exit code: 0 if all ranks succeeded, else that of the first rank that failed (128+N for "
    "signal N); 124 if a time limit passed, 125 if a host was lost or muster failed, 126 or 127 if "
    "the program could not be started, 130 after Ctrl-C.\n\n"
    "Examples:\n"
    "  muster run -n 2 train.py --epochs 3\n"
    "  muster run -H node1,node2 --nproc-per-node 4 --timeout 2h train.py";

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
  command->footer(kMoreOfRun);
  declare(*command, *options);
  command->callback([options, command, &action, &words, &program] {
    action = [options, command, &words, &program]() -> Result<int> {
      if (!options->again.empty()) MUSTER_CHECK(check_beside_again(*command, program));
      return run_command(*options, {words.begin() + 1, words.end()}, program);
    };
  });
}

}  // namespace muster::cli
