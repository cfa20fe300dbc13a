#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cli/follow.hpp"
#include "cli/runs_command.hpp"
#include "hosts/expression.hpp"
#include "hosts/fold.hpp"
#include "run/about.hpp"
#include "run/ending.hpp"
#include "run/folder.hpp"
#include "run/log_limit.hpp"
#include "sys/clock.hpp"
#include "sys/print.hpp"
#include "trainflags/duration_option.hpp"

namespace muster::cli {
namespace {

struct LogsOptions {
  std::string run;
  int attempt = 0;  // counted from 1; 0 is the latest
  std::string ranks;
  std::string hosts;
  std::string pattern;
  double since_s = 0;
  bool only_out = false;
  bool only_err = false;
  bool follow = false;
};

Result<std::string> folder_of(const LogsOptions& options) {
  MUSTER_TRY(const std::string named, run::find_run(options.run));
  if (options.attempt == 0) return run::latest_of(named);
  const std::string base = run::parse_attempt(run::id_of(named)).base;
  const int attempts = run::latest_started(base) + 1;
  if (options.attempt <= attempts) {
    return run::runs_folder() + "/" + run::attempt_id(base, options.attempt - 1);
  }
  return unexpected(
      Error{.code = ErrorCode::kUsage,
            .what = fmt::format("there is no attempt {}: {} had {} attempt{}", options.attempt,
                                base, attempts, attempts == 1 ? "" : "s")});
}

Result<run::LogWish> wish_of(const LogsOptions& options) {
  run::LogWish wish;
  if (!options.ranks.empty()) {
    MUSTER_TRY(wish.ranks, run::parse_ranks(options.ranks));
  }
  if (!options.hosts.empty()) {
    MUSTER_TRY(const auto hosts, hosts::parse_expression(options.hosts));
    for (const hosts::Host& host : hosts) wish.hosts.insert(host.name);
  }
  if (!options.pattern.empty()) {
    MUSTER_TRY(wish.pattern, run::Pattern::compile(options.pattern));
  }
  if (options.only_out) wish.stream = sys::Stream::kOut;
  if (options.only_err) wish.stream = sys::Stream::kErr;
  wish.labels = wish.ranks.size() != 1;
  return wish;
}

// Fails if the run does not have the rank or host. Without this check, the output would be empty,
// as if the rank or host had printed nothing.
Result<void> check_wish(const run::LogWish& wish, const std::string& folder) {
  const auto about = run::read_about(folder);
  if (!about) return {};  // an older muster did not write it
  if (!wish.ranks.empty() && *wish.ranks.rbegin() >= about->rank_end) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what = fmt::format("there is no rank {}: the run has {} rank{}", *wish.ranks.rbegin(),
                            about->ranks, about->ranks == 1 ? "" : "s")});
  }
  const auto is_there = [&](const std::string& host) { return wish.hosts.contains(host); };
  if (wish.hosts.empty() || std::any_of(about->hosts.begin(), about->hosts.end(), is_there)) {
    return {};
  }
  const std::vector<std::string> wanted(wish.hosts.begin(), wish.hosts.end());
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = fmt::format("the run has no rank on {}", hosts::fold(wanted)),
                          .hint = fmt::format("its hosts: {}", hosts::fold(about->hosts))});
}

// Whether to copy the stored bytes unchanged, even if they are not text. Possible for one stream of
// one rank.
bool wants_bytes(const LogsOptions& options, const run::LogWish& wish) {
  return wish.ranks.size() == 1 && wish.stream && wish.hosts.empty() && !wish.pattern &&
         options.since_s == 0 && !options.follow;
}

int copy_bytes(const std::string& folder, const run::LogWish& wish) {
  const int rank = *wish.ranks.begin();
  const bool is_out = *wish.stream == sys::Stream::kOut;
  run::StoredFile file(folder, fmt::format("ranks/{}.{}", rank, is_out ? "out" : "err"));
  if (!file.open()) {
    sys::print_err("muster: rank {} wrote nothing to standard {}\n", rank,
                   is_out ? "output; --err shows its standard error" : "error");
    return 0;
  }
  std::vector<char> part(65536);
  while (sys::output_error() == 0) {
    const ssize_t count = file.read(part.data(), part.size());
    if (count <= 0) break;
    sys::write_out({part.data(), static_cast<std::size_t>(count)});
  }
  if (file.dropped() > 0) {
    const std::string of = fmt::format("rank {}'s {}", rank, is_out ? "stdout" : "stderr");
    sys::print_err("muster: {}\n", run::dropped_text(file.dropped(), of));
  }
  return 0;
}

int follow_logs(const std::string& folder, const Watching& how) {
  const LeaveOnInterrupt on_interrupt;
  const std::string last = follow_run(folder, how);
  if (LeaveOnInterrupt::came()) return leave_running(last);
  const auto ending = run::recorded_ending(last);
  if (ending) {
    sys::print_err("muster: {} has ended{}\n", run::id_of(last),
                   ending->text.empty() ? "" : ": " + ending->text);
  } else if (!run::may_be_running(last)) {
    sys::print_err("muster: {}: {}; {}\n", run::id_of(last), run::how_muster_left(last),
                   run::what_hosts_do_alone(last));
  }
  return 0;
}

Result<int> show_logs(const LogsOptions& options) {
  MUSTER_TRY(const std::string folder, folder_of(options));
  MUSTER_TRY(const run::LogWish wish, wish_of(options));
  MUSTER_CHECK(check_wish(wish, folder));
  if (wants_bytes(options, wish)) return copy_bytes(folder, wish);
  const double since_s = options.since_s > 0 ? sys::unix_time() - options.since_s : 0;
  const Watching how{.wish = wish, .since_s = since_s};
  if (options.follow) return follow_logs(folder, how);
  show_stored(folder, how);
  return 0;
}

void add_choices(CLI::App* logs, LogsOptions& options) {
  logs->add_option("--rank", options.ranks,
                   "Only these ranks: 3, 0-7 or 0,4-7; a single rank has no label")
      ->type_name("RANKS");
  logs->add_option("-H,--hosts,--host", options.hosts, "Only the ranks on these hosts")
      ->type_name("HOSTS");
  CLI::Option* const out = logs->add_flag("--out", options.only_out, "Only stdout");
  logs->add_flag("--err", options.only_err, "Only stderr")->excludes(out);
  logs->add_option("--grep", options.pattern,
                   "Only lines that contain this regular expression, as in grep -E")
      ->type_name("REGEX");
  trainflags::takes_duration(logs->add_option("--since", options.since_s,
                                              "Only what was printed within this time, such as 5m"),
                             0.001);
}

}  // namespace

void add_logs(CLI::App& app, Action& action) {
  auto [logs, options] = add_verb<LogsOptions>(app, action, "logs",
                                               "Show the output of a run, or follow it", show_logs);
  logs->footer(
      "With --rank N and --out or --err, the output is exactly what the rank wrote.\n\n"
      "Examples:\n  muster logs\n  muster logs -f --since 5m\n  muster logs lr3 --rank 3 --err");
  take_run(logs, options->run);
  logs->add_flag("-f,--follow", options->follow,
                 "Also show new output until the run ends; Ctrl-C leaves the run running");
  add_choices(logs, *options);
  logs->add_option("--attempt", options->attempt,
                   "Attempt of a run that was restarted, counted from 1; default: the latest")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
}

}  // namespace muster::cli
