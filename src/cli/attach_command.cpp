#include <fmt/format.h>

#include "cli/follow.hpp"
#include "cli/runs_command.hpp"
#include "run/ending.hpp"
#include "run/folder.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

struct AttachOptions {
  std::string run;
};

// Prints how the run ended and returns its exit code.
Result<int> end_of_run(const std::string& folder) {
  if (!sys::exists(folder + "/record.json")) {
    return unexpected(
        Error{.what = run::how_muster_left(folder) + ", so it is not recorded how the run ended",
              .where = {.file = folder},
              .hint = fmt::format("{}; to start it again: muster run --again {}",
                                  run::what_hosts_do_alone(folder), run::id_of(folder))});
  }
  MUSTER_TRY(const run::Ending ending, run::recorded_ending(folder));
  for (const std::string& line : {ending.text, whose_code(ending)}) {
    if (!line.empty()) sys::print_err("muster: {}\n", line);
  }
  return ending.code;
}

Result<int> attach_to_run(const AttachOptions& options) {
  MUSTER_TRY(const std::string named, run::find_run(options.run));
  const std::string folder = run::latest_of(named);
  if (!sys::exists(folder + "/out")) {
    return unexpected(Error{
        .code = ErrorCode::kUsage, .what = "this run never started", .where = {.file = folder}});
  }
  const LeaveOnInterrupt on_interrupt;
  const std::string last = follow_run(folder, {.streams_apart = true});
  if (LeaveOnInterrupt::came()) return leave_running(last);
  if (sys::output_error() != 0 && !sys::exists(last + "/record.json")) {
    return 0;  // the run continues; main reports the error
  }
  return end_of_run(last);
}

}  // namespace

void add_attach(CLI::App& app, Action& action) {
  auto [attach, options] = add_verb<AttachOptions>(
      app, action, "attach", "Watch a run from its first line; Ctrl-C leaves it running",
      attach_to_run);
  attach->footer(
      "Exit code: that of the run; 130 after Ctrl-C.\n\n"
      "Examples:\n  muster attach\n  muster attach 20261116");
  take_run(attach, options->run);
}

}  // namespace muster::cli
