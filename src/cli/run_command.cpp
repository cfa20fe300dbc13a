#include "cli/run_command.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/exit_code.hpp"
#include "base/printable.hpp"
#include "cli/attempt.hpp"
#include "cli/command.hpp"
#include "cli/detach.hpp"
#include "cli/kept_command.hpp"
#include "cli/members.hpp"
#include "cli/reach.hpp"
#include "cli/run_options.hpp"
#include "cli/slurm_job.hpp"
#include "hosts/fold.hpp"
#include "run/folder.hpp"
#include "run/keeper.hpp"
#include "run/pause.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

// One line that says what was understood, so that a surprise shows before the job does.
std::string understood(const Surveyed& all, const std::string& run_id) {
  std::vector<std::string> names;
  for (const auto& placement : all.layout.placements) names.push_back(placement.host);
  return fmt::format("muster: run {}: {} rank{} on {}, {}, network {}, master {}:{}\n", run_id,
                     all.layout.ranks, all.layout.ranks == 1 ? "" : "s", hosts::fold(names),
                     printable(engine_name(all.layout.engine)),
                     all.layout.subnet.empty() ? "not known" : all.layout.subnet,
                     all.layout.master_address, all.layout.master_port);
}

// A program that is not there, or cannot be run, has codes of its own.
int refusal_code(const std::vector<facts::Survey>& surveys) {
  for (const facts::Survey& survey : surveys) {
    if (!survey.facts) continue;
    const std::optional<facts::Program>& program = survey.facts->program;
    const std::optional<facts::Script>& script = survey.facts->script;
    const bool is_file = script && script->name.ends_with(".py");  // not a module
    if (is_file && script->path.empty()) return kExitNotFound;
    if (!program) continue;
    if (program->path.empty()) return kExitNotFound;
    if (!program->executable) return kExitCannotRun;
  }
  return kExitOwnFault;
}

// For pasting: with the values that were given with -x, and the hosts keep what the shim needs.
void show_command(Surveyed& all, const RunOptions& options, launch::Plan plan) {
  for (const std::string& given : options.job.variables) {
    if (given.find('=') != std::string::npos) plan.env.push_back(given);
  }
  sys::print_out("{}\n", options.json ? to_json(plan) : to_command_line(plan));
  for (std::size_t i = 0; i < all.cluster.hosts.size(); ++i) {
    all.crew->send(i, {.kind = agent::Order::Kind::kBye, .keep = true});
  }
}

// A run, attempt by attempt.
class RunJob {
 public:
  // `turn` is the first of this process: not the run's own first where it is started again.
  RunJob(const RunOptions& options, const Program& program, Turn turn)
      : options_(options), members_(options, program), turn_(std::move(turn)) {}

  Result<int> run(const launch::Words& words, const Program& program);

 private:
  // An exit code where it ends here.
  Result<std::optional<int>> attempt();
  Result<std::optional<int>> refuse(const Gathered& gathered);
  void announce(const Surveyed& all);
  Result<std::optional<int>> follow_up(const AttemptEnd& end);
  run::Decision decide(const run::Record& record, const run::Verdict& verdict);
  [[nodiscard]] bool is_first() const { return attempts_.empty(); }
  [[nodiscard]] double time_left() const;
  [[nodiscard]] int interrupted(int signal) const;

  const RunOptions& options_;
  Members members_;
  Turn turn_;
  std::string folder_;
  const launch::Words* words_ = nullptr;
  const Program* program_ = nullptr;
  std::vector<run::Attempt> attempts_;
  std::chrono::steady_clock::time_point began_ = {};
};

Result<int> RunJob::run(const launch::Words& words, const Program& program) {
  words_ = &words;
  program_ = &program;
  for (;; ++turn_.number) {
    MUSTER_TRY(const std::optional<int> code, attempt());
    if (code) return *code;
  }
}

int RunJob::interrupted(int signal) const {
  sys::print_err("muster: stopped by {} before the restart\n", ::strsignal(signal));
  return 128 + signal;
}

// Of --timeout, which is for all attempts together.
double RunJob::time_left() const {
  const double spent =
      is_first() ? 0
                 : std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  return options_.patience.timeout_s - spent;
}

Result<std::optional<int>> RunJob::refuse(const Gathered& gathered) {
  if (gathered.signal) return std::optional<int>(interrupted(*gathered.signal));
  const Surveyed& all = *gathered.all;
  const bool missing = !is_first() && !gathered.missing.empty();
  const bool refused = missing || (checks::has_errors(all.findings) && !options_.force);
  if (!all.findings.empty() && (refused || (!options_.quiet && is_first()))) {
    sys::write_err(checks::to_text(all.findings));
  }
  if (!refused) return std::optional<int>();
  if (is_first()) {
    sys::print_err("muster: not started because of the errors above (--force starts it anyway)\n");
    return std::optional<int>(refusal_code(all.surveys));
  }
  sys::print_err("muster: not started again; {}\n",
                 missing ? fmt::format("{}: {}, for {:.0f} s, and there is no spare host",
                                       gathered.missing.front().host, gathered.missing.front().why,
                                       gathered.waited_s)
                         : "see above");
  return std::optional<int>(attempts_.back().code);
}

void RunJob::announce(const Surveyed& all) {
  std::vector<std::string> names;
  for (const auto& placement : all.layout.placements) names.push_back(placement.host);
  const std::vector<std::string> changes = members_.take_changes();
  const std::string changed = changes.empty() ? "" : fmt::format(", {}", fmt::join(changes, ", "));
  if (turn_.number > 0) {
    sys::print_err("muster: starting again on {}{}; TORCHELASTIC_RESTART_COUNT={}\n",
                   hosts::fold(names), changed, turn_.number);
  } else if (!changed.empty()) {
    sys::print_err("muster: starting on {}{}\n", hosts::fold(names), changed);
  }
  if (!options_.quiet) sys::write_err(understood(all, turn_.id()));
}

Result<std::optional<int>> RunJob::attempt() {
  MUSTER_TRY(const Gathered gathered, members_.gather(turn_));
  MUSTER_TRY(const std::optional<int> refused, refuse(gathered));
  if (refused) return refused;
  Surveyed& all = *gathered.all;
  if (is_first() && options_.job.verbose) {
    for (const std::string& why : all.layout.why) sys::print_err("muster: {}\n", printable(why));
  }
  const bool ours = members_.restartable() && (all.job.max_restarts > 0 || turn_.number > 0);
  turn_.most = ours ? all.job.max_restarts : -1;
  MUSTER_TRY(folder_, run::make_run_folder(turn_.id()));
  MUSTER_CHECK(run::write_owner(folder_));
  if (turn_.number == 0) MUSTER_CHECK(keep_command(folder_, *words_, *program_));
  MUSTER_TRY(const launch::Plan plan, prepare(all, turn_, folder_, options_.dry_run));
  for (const std::string& note : plan.notes) {
    if (!options_.quiet && is_first()) sys::print_err("muster: {}\n", note);
  }
  tell_placements(all, plan);
  if (options_.dry_run) {
    show_command(all, options_, plan);
    return std::optional<int>(0);
  }
  if (options_.patience.timeout_s > 0 && time_left() <= 0) {
    sys::print_err("muster: not started again: the time limit of {:g} s has passed\n",
                   options_.patience.timeout_s);
    return std::optional<int>(kExitTimedOut);
  }
  announce(all);
  run::Patience patience = options_.patience;
  // Who is given up here gives up there at the same time: no old rank writes beside a new one.
  if (turn_.most > 0) {
    patience.orphan_after_s = std::min(patience.orphan_after_s, patience.lost_after_s);
  }
  patience.spent_s = options_.patience.timeout_s - time_left();
  if (is_first()) began_ = std::chrono::steady_clock::now();
  MUSTER_TRY(const AttemptEnd end, supervise(all, patience, plan, turn_, folder_,
                                             [this](const auto& record, const auto& verdict) {
                                               return decide(record, verdict);
                                             }));
  auto code = follow_up(end);
  if (code && !*code) all.close();
  return code;
}

run::Decision RunJob::decide(const run::Record& record, const run::Verdict& verdict) {
  attempts_.push_back(run::summarize(record, verdict));
  return run::decide_restart(attempts_, {.most = std::max(turn_.most, 0),
                                         .spares = members_.has_spares(),
                                         .longest_wait_s = options_.back_off_s});
}

// What is said of an attempt that has ended, and the wait for the next.
Result<std::optional<int>> RunJob::follow_up(const AttemptEnd& end) {
  const auto& [verdict, decision] = end;
  if (!decision.again) {
    if (!decision.why.empty()) sys::print_err("muster: {}\n", decision.why);
    if (!verdict.text.empty() && !decision.crash_loop) {
      sys::print_err("muster: {}\n", verdict.text);
      for (const std::string& line : verdict.quoted) {
        if (!verdict.quoted_above) sys::print_err("  | {}\n", line);
      }
      if (!verdict.hint.empty()) sys::print_err("  hint: {}\n", verdict.hint);
    }
    return std::optional<int>(verdict.code);
  }
  const int first = turn_.number - static_cast<int>(attempts_.size()) + 1;
  sys::print_err("muster: attempt {} of {}: {}; starting again in {:g} s\n", turn_.number + 1,
                 first + turn_.most + 1, verdict.text, decision.wait_s);
  if (options_.patience.timeout_s > 0 && time_left() <= decision.wait_s) {
    sys::print_err("muster: not started again: the time limit of {:g} s would pass first\n",
                   options_.patience.timeout_s);
    return std::optional<int>(kExitTimedOut);
  }
  if (const auto signal = run::pause(decision.wait_s)) {
    return std::optional<int>(interrupted(*signal));
  }
  members_.leave(decision.bad_hosts);
  return std::optional<int>();
}

Result<int> run_job(const RunOptions& options, const launch::Words& words, const Program& program,
                    const Turn& turn) {
  if (program.empty()) return unexpected(no_program("muster run -H n[1-3] train.py"));
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
    if (!there) return allocate_and_run(options, words, program);
  }
  if (options.detach) {
    if (const auto code = detach(turn.id())) return *code;  // in the parent, after the start
  }
  return RunJob(options, program, turn).run(words, program);
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
