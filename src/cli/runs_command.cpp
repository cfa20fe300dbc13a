#include "cli/runs_command.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/json.hpp"
#include "cli/kept_command.hpp"
#include "cli/run_table.hpp"
#include "run/past_run.hpp"
#include "sys/clock.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

struct RunsOptions {
  std::size_t limit = 20;
  bool json = false;
};

Result<int> list_runs(const RunsOptions& options) {
  const std::vector<std::string> bases = run::newest_runs();
  const std::size_t shown =
      options.limit == 0 ? bases.size() : std::min(options.limit, bases.size());
  std::vector<run::PastRun> runs;
  for (std::size_t i = 0; i < shown; ++i) runs.push_back(look_at_run(bases[i]));
  const double now_s = sys::unix_time();
  if (options.json) {
    for (const run::PastRun& run : runs) sys::print_out("{}\n", json_text(json_of(run, now_s)));
    return 0;
  }
  sys::write_out(run_table(runs, now_s, columns_of_output()));
  if (shown < bases.size()) {
    sys::print_err("muster: {} older runs are not shown; to see all: muster runs --limit 0\n",
                   bases.size() - shown);
  }
  return 0;
}

}  // namespace

std::size_t columns_of_output() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void add_runs(CLI::App& app, Action& action) {
  auto [runs, options] = add_verb<RunsOptions>(
      app, action, "runs", "List the runs that were started on this machine", list_runs);
  runs->footer("Examples:\n  muster runs\n  muster runs --limit 5 --json");
  runs->add_option("--limit", options->limit, "Show the newest N runs; 0: all")
      ->check(CLI::Range(0, 1'000'000'000))
      ->type_name("N")
      ->capture_default_str();
  runs->add_flag("--json", options->json, "Print one JSON object per run");
  add_show(app, action);
  add_logs(app, action);
  add_attach(app, action);
  add_why(app, action);
  add_stop(app, action);
  add_rm(app, action);
}

}  // namespace muster::cli
