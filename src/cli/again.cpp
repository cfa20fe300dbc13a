#include "cli/again.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "cli/config_file.hpp"
#include "cli/flag_words.hpp"
#include "cli/run_lock.hpp"
#include "run/folder.hpp"
#include "run/record.hpp"

namespace muster::cli {
namespace {

// Fails if the attempt succeeded, or if another machine may still look after it.
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
                          .hint = fmt::format("to start its command anew, type it without --again; "
                                              "muster show {} has it",
                                              id)});
}

Result<void> must_have_ended(const std::string& folder, const std::string& id,
                             const std::string& base) {
  if (run::living_owner(folder) == 0) return may_start_again(folder, id);
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = fmt::format("{} is still running", id),
                          .hint = fmt::format("to end the run: muster stop {}", base)});
}

Result<RunOptions> parsed(const launch::Words& words, const std::string& folder) {
  CLI::App command;
  RunOptions options;
  add_run_options(command, options);
  try {
    command.parse(launch::Words(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return unexpected(Error{
        .what =
            std::string("this muster does not understand the run's command line: ") + error.what(),
        .where = {.file = folder}});
  }
  MUSTER_CHECK(take_config(command, options.job.cluster));
  return options;
}

// The run's own muster.yaml must be found again. Without it, the job would run on other hosts or on
// this machine.
Result<void> must_have_its_config(const KeptCommand& kept, const RunOptions& options) {
  const std::string now = absolute_config(options.job.cluster.file->path);
  if (kept.config.empty() || kept.config == now) return {};
  return unexpected(Error{
      .code = ErrorCode::kUsage,
      .what = now.empty() ? "the file that described the run is gone"
                          : fmt::format("{} would be read now instead of the run's own file", now),
      .where = {.file = kept.config},
      .hint = "bring the file back, or type the whole command line without --again"});
}

}  // namespace

Result<void> check_beside_again(const CLI::App& command, const Program& program) {
  std::string wrong = program.empty() ? "" : "the program";
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const Flag* flag = find_flag(name);
    const bool fits = name == "--again" || (flag != nullptr && flag->beside_again);
    if (option->count() > 0 && !fits) wrong = name;
  }
  if (wrong.empty()) return {};
  return unexpected(Error{
      .code = ErrorCode::kUsage,
      .what =
          fmt::format("--again repeats the earlier command line, so {} cannot be changed", wrong),
      .hint = "leave out what you added, or type the whole command line without --again"});
}

Result<EarlierRun> prepare_again(const std::string& id, const launch::Words& typed) {
  MUSTER_TRY(const std::string found, run::find_run(id));
  const std::string base = run::parse_attempt(found.substr(found.rfind('/') + 1)).base;
  const int latest = run::latest_attempt(base);
  const std::string last = run::attempt_id(base, latest);
  MUSTER_CHECK(must_have_ended(run::runs_folder() + "/" + last, last, base));
  MUSTER_TRY(sys::Fd lock, lock_run(base));
  MUSTER_TRY(KeptCommand kept, read_command(run::runs_folder() + "/" + base));
  if (::chdir(kept.folder.c_str()) != 0) {
    return unexpected(
        system_error("cannot change to the directory where the run was started", kept.folder));
  }
  MUSTER_TRY(RunOptions options, parsed(again_words(kept.words, typed), found));
  MUSTER_CHECK(must_have_its_config(kept, options));
  MUSTER_CHECK(await_end(last));
  Turn turn{.base = base, .number = latest + 1, .name = options.name};
  return EarlierRun{.options = std::move(options),
                    .command = std::move(kept),
                    .turn = std::move(turn),
                    .lock = std::move(lock)};
}

}  // namespace muster::cli
