#include "cli/run_command.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/exit_code.hpp"
#include "base/printable.hpp"
#include "cli/again.hpp"
#include "cli/attempt.hpp"
#include "cli/command.hpp"
#include "cli/detach.hpp"
#include "cli/kept_command.hpp"
#include "cli/members.hpp"
#include "cli/reach.hpp"
#include "cli/run_help.hpp"
#include "cli/run_options.hpp"
#include "cli/slurm_job.hpp"
#include "hosts/fold.hpp"
#include "run/folder.hpp"
#include "run/pause.hpp"
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

Result<int> start_again(const std::string& id, const launch::Words& words) {
  MUSTER_TRY(const EarlierRun earlier, prepare_again(id, words));
  return run_job(earlier.options, earlier.command.words, earlier.command.program, earlier.turn);
}

// Only muster's own codes here: a job's are its own.
Result<int> run_command(const RunOptions& options, const launch::Words& words,
                        const Program& program) {
  auto code = options.again.empty() ? run_job(options, words, program, {.base = run::new_run_id()})
                                    : start_again(options.again, words);
  if (!code && code.error().code != ErrorCode::kUsage) {
    sys::print_err("muster: {}\n", to_text(code.error()));
    return kExitOwnFault;
  }
  return code;
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
      if (!options->again.empty()) MUSTER_CHECK(check_beside_again(*command, program));
      return run_command(*options, {words.begin() + 1, words.end()}, program);
    };
  });
}

}  // namespace muster::cli
