#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "cli/runs_command.hpp"
#include "run/ask_desk.hpp"
#include "run/folder.hpp"
#include "run/inspection.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"
#include "trainflags/duration_option.hpp"

namespace muster::cli {
namespace {

constexpr std::size_t kMostText = std::size_t{64} << 20;

struct WhyOptions {
  std::string run;
  bool slow = false;
  double slow_s = 10;
  bool json = false;
};

Error nothing_kept(const std::string& folder) {
  const std::string id = run::id_of(folder);
  const std::string elsewhere = run::owner_elsewhere(folder);
  if (!elsewhere.empty() && run::may_be_running(folder)) {
    return {.code = ErrorCode::kUsage,
            .what = fmt::format("this run was started on {}", elsewhere),
            .where = {.file = folder},
            .hint = fmt::format("run this on {}: muster why {}", elsewhere, id)};
  }
  return {.code = ErrorCode::kUsage,
          .what = "this run has ended, and it was never inspected",
          .where = {.file = folder},
          .hint = "to see why it failed: muster explain " + id};
}

// Returns the folder of an inspection: a new one if the run is alive, else the last one that was
// stored while it was.
Result<std::string> inspected(const std::string& folder, const WhyOptions& options) {
  if (run::living_owner(folder) == 0) {
    const std::string kept = run::newest_inspection(folder);
    if (kept.empty()) return unexpected(nothing_kept(folder));
    sys::print_err("muster: {} has ended; this is what was seen while it ran\n",
                   run::id_of(folder));
    return kept;
  }
  if (options.slow) {
    sys::print_err("muster: watching {} for {:g} s\n", run::id_of(folder), options.slow_s);
  }
  MUSTER_TRY(const run::WhyAnswer answer,
             run::ask_why(folder, {.slow_s = options.slow ? options.slow_s : 0}));
  if (!answer.error.empty()) {
    return unexpected(Error{.what = answer.error, .where = {.file = folder}});
  }
  return answer.folder;
}

Result<int> show_json(const std::string& kept) {
  MUSTER_TRY(const std::string text,
             sys::read_file(fmt::format("{}/{}", kept, run::kWhyVerdict), kMostText));
  const auto verdict = parse_json(text, kOwnFile);
  if (!verdict || !verdict->is_object()) {
    return unexpected(Error{.what = "cannot read the verdict", .where = {.file = kept}});
  }
  nlohmann::ordered_json json(*verdict);
  json["evidence"] = kept;
  sys::print_out("{}\n", json_text(json));
  return 0;
}

Result<int> explain_why(const WhyOptions& options) {
  MUSTER_TRY(const std::string named, run::find_run(options.run));
  const std::string folder = run::latest_of(named);
  if (!sys::exists(folder + "/out")) {
    return unexpected(Error{
        .code = ErrorCode::kUsage, .what = "this run never started", .where = {.file = folder}});
  }
  MUSTER_TRY(const std::string kept, inspected(folder, options));
  if (options.json) return show_json(kept);
  MUSTER_TRY(const std::string text,
             sys::read_file(fmt::format("{}/{}", kept, run::kWhyText), kMostText));
  sys::write_out(text);
  sys::print_out("\nevidence  {}\n", kept);
  if (run::living_owner(folder) != 0)
    sys::print_out("next      muster stop {}, or wait\n", run::id_of(folder));
  return 0;
}

}  // namespace

void add_why(CLI::App& app, Action& action) {
  auto [why, options] = add_verb<WhyOptions>(
      app, action, "why", "Say which rank a hanging job waits for, and what that rank does",
      explain_why);
  why->footer(
      "Looks at all ranks of the run without ending it: at the collectives that they are in, at "
      "their stacks, connections and open files. For a run that has ended, it shows the last "
      "inspection that was kept.\n\n"
      "Examples:\n  muster why\n  muster why lr3\n  muster why --slow --for 30s");
  take_run(why, options->run);
  CLI::Option* const slow =
      why->add_flag("--slow", options->slow,
                    "Watch a job that advances, and name the rank that the others wait for most");
  trainflags::takes_duration(
      why->add_option("--for", options->slow_s, "With --slow: how long to watch"), 1, 600)
      ->needs(slow)
      ->capture_default_str();
  why->add_flag("--json", options->json, "Print one JSON object");
}

}  // namespace muster::cli
