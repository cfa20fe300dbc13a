#include <optional>

#include <fmt/format.h>

#include "base/size_text.hpp"
#include "cli/run_lock.hpp"
#include "cli/runs_command.hpp"
#include "cli/size_option.hpp"
#include "run/folder.hpp"
#include "run/keeper.hpp"
#include "run/past_run.hpp"
#include "run/removal.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"
#include "trainflags/duration_option.hpp"

namespace muster::cli {
namespace {

struct RmOptions {
  std::vector<std::string> runs;
  double older_than_s = -1;
  std::optional<std::uint64_t> max_bytes;
  bool dry_run = false;
};

// Whether a process of the run, or the process that ends it, may still exist.
bool is_in_use(const std::string& base) {
  for (int i = 0, latest = run::latest_attempt(base); i <= latest; ++i) {
    const std::string id = run::attempt_id(base, i);
    const std::string folder = run::runs_folder() + "/" + id;
    if (run::may_be_running(folder)) return true;
    if (!sys::exists(folder + "/record.json") && run::is_being_ended(id)) return true;
  }
  return false;
}

Error in_use(const std::string& base) {
  return {.code = ErrorCode::kUsage,
          .what = fmt::format("{} may still be running", base),
          .hint = fmt::format("to end it: muster stop {}", base)};
}

Result<std::vector<std::string>> named_runs(const std::vector<std::string>& names) {
  std::vector<std::string> bases;
  for (const std::string& name : names) {
    MUSTER_TRY(const std::string folder, run::find_run(name));
    bases.push_back(run::parse_attempt(run::id_of(folder)).base);
    if (is_in_use(bases.back())) return unexpected(in_use(bases.back()));
  }
  return bases;
}

std::vector<run::StoredRun> stored_runs() {
  std::vector<run::StoredRun> stored;
  for (const std::string& base : run::newest_runs()) {
    const run::PastRun past = run::look_at_run(base);
    stored.push_back({.base = base,
                      .last_s = past.ended_s.value_or(run::changed_s(base)),
                      .bytes = run::stored_bytes(base),
                      .in_use = is_in_use(base)});
  }
  return stored;
}

// Returns false if the run is in use again, or if another muster has removed it.
Result<bool> remove_unused(const std::string& base) {
  const auto lock = lock_run(base);  // so that no other process starts it again
  if (!lock || is_in_use(base)) return false;
  MUSTER_CHECK(run::remove_run(base));
  return true;
}

Result<int> remove_runs(const RmOptions& options) {
  const bool has_age = options.older_than_s >= 0;
  if (options.runs.empty() && !has_age && !options.max_bytes) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "no run was named",
                            .hint = "for example: muster rm last, or muster rm --older-than 30d"});
  }
  MUSTER_TRY(const std::vector<std::string> named, named_runs(options.runs));
  run::Removal rules{.named = {named.begin(), named.end()}};
  if (has_age) rules.before_s = sys::unix_time() - options.older_than_s;
  rules.max_bytes = options.max_bytes;
  run::clear_removed();
  for (const run::StoredRun& one : run::to_remove(stored_runs(), rules)) {
    if (!options.dry_run) {
      MUSTER_TRY(const bool is_removed, remove_unused(one.base));
      if (!is_removed && rules.named.contains(one.base)) return unexpected(in_use(one.base));
      if (!is_removed) continue;
    }
    sys::print_out("{} {} ({})\n", options.dry_run ? "would remove" : "removed", one.base,
                   file_size_text(one.bytes));
  }
  return 0;
}

}  // namespace

void add_rm(CLI::App& app, Action& action) {
  auto [rm, options] = add_verb<RmOptions>(
      app, action, "rm", "Remove what is stored of runs that have ended", remove_runs);
  rm->footer(
      "A run is removed with all its attempts. A run that may be running is never removed.\n\n"
      "Examples:\n  muster rm lr3\n  muster rm --older-than 30d --max-size 10G");
  rm->add_option("RUN", options->runs, kRunHelp);
  trainflags::takes_duration(
      rm->add_option("--older-than", options->older_than_s,
                     "Remove runs that ended longer ago than this, such as 30d"),
      0);
  takes_size(rm->add_option(
      "--max-size", options->max_bytes,
      "Remove the oldest runs until all together take no more than this: 500M, 10G"));
  rm->add_flag("--dry-run", options->dry_run, "Only print what would be removed");
}

}  // namespace muster::cli
