#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cli/command.hpp"
#include "run/folder.hpp"
#include "run/record.hpp"
#include "sys/file.hpp"
#include "sys/loop.hpp"
#include "sys/print.hpp"
#include "trainflags/duration_option.hpp"

namespace muster::cli {
namespace {

struct RunsOptions {
  std::string run;
  int rank = -1;
  bool errors = false;
  bool json = false;
  std::chrono::seconds::rep timeout_s = 60;
};

std::string local_time(double unix_s) {
  const auto seconds = static_cast<std::time_t>(unix_s);
  std::tm local{};
  (void)::localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local)};
}

std::string state_of(const std::string& folder) {
  const auto text = sys::read_file(folder + "/record.json");
  if (text) {
    const auto summary = run::parse_summary(*text);
    if (!summary) return "its record cannot be read";
    const std::string end = summary->code == 0 ? "ok" : fmt::format("ended {}", summary->code);
    return fmt::format(
        "{} {:>6.1f} s  {:3} ranks  {:9} {}{}", local_time(summary->started_s),
        summary->ended_s - summary->started_s, summary->ranks, end, summary->command,
        summary->started_again.empty() ? "" : "; started again: " + summary->started_again);
  }
  if (run::living_owner(folder) != 0) return "running; to follow it: muster attach";
  return sys::exists(folder + "/out") ? "muster was killed, and the hosts were told to end the run"
                                      : "not started";
}

std::string id_of(const std::string& folder) {
  return folder.substr(folder.rfind('/') + 1);
}

// The folder of the run's latest attempt, where not one of its attempts was named.
std::string latest_of(const std::string& folder) {
  const run::AttemptName name = run::parse_attempt(id_of(folder));
  const int latest = run::latest_attempt(name.base);
  if (name.number > 0 || latest <= 0) return folder;
  return run::runs_folder() + "/" + run::attempt_id(name.base, latest);
}

Result<int> list(const RunsOptions& options) {
  for (const std::string& id : run::list_runs()) {
    const std::string folder = run::runs_folder() + "/" + id;
    if (!options.json) {
      sys::print_out("{}  {}\n", id, state_of(folder));
    } else if (const auto text = sys::read_file(folder + "/record.json")) {
      std::string line = *text;
      std::replace(line.begin(), line.end(), '\n', ' ');
      sys::print_out("{}\n", line);
    }
  }
  return 0;
}

// Copies the file from `offset` on, until standard output takes no more.
void copy_new(const std::string& path, std::uint64_t& offset, sys::Stream to) {
  const sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 65536> bytes{};
  while (file.valid() && sys::output_error() == 0) {
    const ssize_t count =
        ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count <= 0) return;
    offset += static_cast<std::uint64_t>(count);
    const std::string_view text(bytes.data(), static_cast<std::size_t>(count));
    to == sys::Stream::kOut ? sys::write_out(text) : sys::write_err(text);
  }
}

Result<int> logs(const RunsOptions& options) {
  MUSTER_TRY(const std::string folder, run::find_run(options.run));
  if (latest_of(folder) != folder) {
    sys::print_err(
        "muster: this is the output of the first attempt; for the latest: muster logs {}\n",
        id_of(latest_of(folder)));
  }
  const std::string stream = options.errors ? "err" : "out";
  const std::string path = options.rank < 0
                               ? folder + "/" + stream
                               : fmt::format("{}/ranks/{}.{}", folder, options.rank, stream);
  const auto record = sys::read_file(folder + "/record.json");
  const auto summary = run::parse_summary(record ? *record : "");
  if (summary && options.rank >= summary->ranks) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("there is no rank {}: the run had {} ranks",
                                                options.rank, summary->ranks)});
  }
  if (options.rank >= 0 && !sys::exists(path)) {
    sys::print_err("muster: rank {} wrote nothing to standard {}\n", options.rank,
                   options.errors ? "error" : "output; --err shows its standard error");
    return 0;
  }
  std::uint64_t offset = 0;
  copy_new(path, offset, sys::Stream::kOut);
  return 0;
}

constexpr int kLookAgain = 100;  // ms

volatile std::sig_atomic_t interrupted = 0;

void pass_interrupt_on(const std::string& folder) {
  if (interrupted == 0) return;
  interrupted = 0;
  if (const int owner = run::living_owner(folder)) (void)::kill(owner, SIGINT);
}

// Shows the run's output as it grows, until the run is over or our reader has left. Ctrl-C is
// passed on to the run.
void follow(const std::string& folder) {
  const sys::Fd notices(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  (void)::inotify_add_watch(notices.get(), folder.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO);
  std::uint64_t out = 0, err = 0;
  while (true) {
    const bool over = sys::exists(folder + "/record.json") || run::living_owner(folder) == 0;
    copy_new(folder + "/out", out, sys::Stream::kOut);
    copy_new(folder + "/err", err, sys::Stream::kErr);
    if (over || !sys::output_is_taken()) return;
    pass_interrupt_on(folder);
    pollfd news[] = {{notices.get(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    (void)::poll(news, std::size(news), 500);
    std::array<char, 4096> bytes{};
    while (::read(notices.get(), bytes.data(), bytes.size()) > 0) {
    }
  }
}

// The folder of the attempt after this one, once it runs; empty: there is none, and will be none.
std::string await_next(const std::string& folder) {
  const run::AttemptName name = run::parse_attempt(id_of(folder));
  const std::string next = run::runs_folder() + "/" + run::attempt_id(name.base, name.number + 1);
  while (true) {
    const bool goes_on = run::living_owner(folder) != 0 && sys::output_is_taken();
    if (sys::exists(next + "/out")) return next;
    if (!goes_on) return {};
    pass_interrupt_on(folder);
    (void)::poll(nullptr, 0, kLookAgain);
  }
}

// Likewise, where the record says that it was to be started again; says so.
std::string await_restart(const std::string& folder) {
  const auto text = sys::read_file(folder + "/record.json");
  const auto summary = run::parse_summary(text ? *text : "");
  if (!summary || summary->started_again.empty()) return {};
  sys::print_err("muster: {}; muster will restart it\n", summary->text);
  return await_next(folder);
}

Result<int> attach(const RunsOptions& options) {
  MUSTER_TRY(std::string folder, run::find_run(options.run));
  folder = latest_of(folder);
  struct sigaction pass_on = {};
  pass_on.sa_handler = [](int /*signal*/) { interrupted = 1; };
  (void)::sigaction(SIGINT, &pass_on, nullptr);
  if (!sys::exists(folder + "/out")) {
    return unexpected(Error{
        .code = ErrorCode::kUsage, .what = "this run never started", .where = {.file = folder}});
  }
  follow(folder);
  for (std::string next = await_restart(folder); !next.empty(); next = await_restart(folder)) {
    folder = next;
    follow(folder);
  }
  const auto text = sys::read_file(folder + "/record.json");
  if (!text && sys::output_error() != 0) return 0;  // the run continues; main reports why we end
  if (!text) {
    return unexpected(Error{.what = "muster was killed before it could record how the run ended",
                            .where = {.file = folder},
                            .hint = "the hosts were told to end the run"});
  }
  MUSTER_TRY(const run::Summary summary, run::parse_summary(*text));
  if (!summary.text.empty()) sys::print_err("muster: {}\n", summary.text);
  return summary.code;
}

Result<int> stop(const RunsOptions& options) {
  MUSTER_TRY(const std::string named, run::find_run(options.run));
  const std::string folder = latest_of(named);
  const int owner = run::living_owner(folder);
  if (owner == 0) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "this run has already ended",
                            .where = {.file = folder}});
  }
  (void)::kill(owner, SIGTERM);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(options.timeout_s);
  // Not its record: between two attempts that is there already.
  while (run::living_owner(folder) != 0) {
    if (std::chrono::steady_clock::now() > until) {
      return unexpected(Error{
          .code = ErrorCode::kTimeout,
          .what = fmt::format("{} has not ended within {} s", id_of(folder), options.timeout_s),
          .hint = fmt::format(
              "to end muster and, soon after, its processes on the hosts: kill -KILL {}", owner)});
    }
    (void)::poll(nullptr, 0, kLookAgain);
  }
  sys::print_err("muster: {} has ended\n", id_of(folder));
  return 0;
}

using Verb = Result<int> (*)(const RunsOptions&);

std::pair<CLI::App*, std::shared_ptr<RunsOptions>> add_verb(CLI::App& app, Action& action,
                                                            const char* name, const char* about,
                                                            Verb verb) {
  auto options = std::make_shared<RunsOptions>();
  CLI::App* command = app.add_subcommand(name, about);
  command->callback(
      [options, &action, verb] { action = [options, verb] { return verb(*options); }; });
  return {command, options};
}

void take_run(CLI::App* command, const std::shared_ptr<RunsOptions>& options) {
  command
      ->add_option("RUN", options->run,
                   "Run id, the beginning of one, or 'last' for the newest run")
      ->required();
}

}  // namespace

void add_runs(CLI::App& app, Action& action) {
  auto [runs, runs_options] =
      add_verb(app, action, "runs", "List the runs that were started on this machine", list);
  runs->footer("Examples:\n  muster runs\n  muster runs --json");
  runs->add_flag("--json", runs_options->json, "Print one JSON object per finished run");
  auto [show, show_options] =
      add_verb(app, action, "logs", "Show the output of a run: of all ranks, or of one", logs);
  show->footer("Examples:\n  muster logs last\n  muster logs last --rank 3 --err");
  take_run(show, show_options);
  show->add_option("--rank", show_options->rank, "Print only the output of rank N, without labels")
      ->check(CLI::Range(0, 100'000'000));
  show->add_flag("--err", show_options->errors, "Print stderr instead of stdout");
  auto [again, again_options] =
      add_verb(app, action, "attach",
               "Show a running job's output from the start; Ctrl-C ends the job", attach);
  again->footer(
      "Exit code: that of the run.\n\nExamples:\n  muster attach last\n  muster attach 20261116");
  take_run(again, again_options);
  auto [end, end_options] = add_verb(app, action, "stop", "End a run cleanly on all hosts", stop);
  end->footer("Examples:\n  muster stop last\n  muster stop last --timeout 5m");
  take_run(end, end_options);
  trainflags::takes_duration(end->add_option("--timeout", end_options->timeout_s,
                                             "Longest time to wait until the run has ended"),
                             1)
      ->capture_default_str();
}

}  // namespace muster::cli
