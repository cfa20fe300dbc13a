#include <chrono>
#include <csignal>

#include <fmt/format.h>
#include <poll.h>

#include "cli/runs_command.hpp"
#include "run/folder.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"
#include "trainflags/duration_option.hpp"

namespace muster::cli {
namespace {

struct StopOptions {
  std::string run;
  std::chrono::seconds::rep timeout_s = 60;
};

Error cannot_stop(const std::string& folder) {
  const std::string elsewhere = run::owner_elsewhere(folder);
  const bool was_left =
      elsewhere.empty() && sys::exists(folder + "/out") && !sys::exists(folder + "/record.json");
  if (was_left) {
    return {.code = ErrorCode::kUsage,
            .what = run::how_muster_left(folder) + ", so no muster supervises this run",
            .where = {.file = folder},
            .hint = run::what_hosts_do_alone(folder)};
  }
  if (elsewhere.empty() || !run::may_be_running(folder)) {
    return {
        .code = ErrorCode::kUsage, .what = "this run has already ended", .where = {.file = folder}};
  }
  return {.code = ErrorCode::kUsage,
          .what = fmt::format("this run was started on {}", elsewhere),
          .where = {.file = folder},
          .hint = fmt::format("run this on {}: muster stop {}", elsewhere, run::id_of(folder))};
}

Result<int> stop_run(const StopOptions& options) {
  constexpr int kLookAgain = 100;  // ms
  MUSTER_TRY(const std::string named, run::find_run(options.run));
  const run::AttemptName name = run::parse_attempt(run::id_of(named));
  const std::string newest =
      run::runs_folder() + "/" + run::attempt_id(name.base, run::latest_attempt(name.base));
  // Also true if the run has begun already.
  const bool is_being_checked = run::living_owner(newest) != 0;
  const std::string folder = is_being_checked ? newest : run::latest_of(named);
  const int owner = run::living_owner(folder);
  if (owner == 0) return unexpected(cannot_stop(folder));
  (void)::kill(owner, SIGTERM);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(options.timeout_s);
  // Checks the owner and not the record, because between two attempts a record already exists.
  while (run::living_owner(folder) != 0) {
    if (std::chrono::steady_clock::now() > until) {
      return unexpected(Error{
          .code = ErrorCode::kTimeout,
          .what =
              fmt::format("{} has not ended within {} s", run::id_of(folder), options.timeout_s),
          .hint = fmt::format(
              "to end muster and, soon after, its processes on the hosts: kill -KILL {}", owner)});
    }
    (void)::poll(nullptr, 0, kLookAgain);
  }
  sys::print_err("muster: {} has ended\n", run::id_of(folder));
  return 0;
}

}  // namespace

void add_stop(CLI::App& app, Action& action) {
  auto [stop, options] =
      add_verb<StopOptions>(app, action, "stop", "End a run cleanly on all hosts", stop_run);
  stop->footer("Examples:\n  muster stop last\n  muster stop lr3 --timeout 5m");
  stop->add_option("RUN", options->run, kRunHelp)->required();
  trainflags::takes_duration(stop->add_option("--timeout", options->timeout_s,
                                              "Longest time to wait until the run has ended"),
                             1)
      ->capture_default_str();
}

}  // namespace muster::cli
