#include "run/past_run.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "run/about.hpp"
#include "run/ending.hpp"
#include "run/folder.hpp"
#include "run/record.hpp"
#include "sys/file.hpp"

namespace muster::run {
namespace {

RunState state_of(const Summary& summary) {
  if (summary.code == 0) return RunState::kOk;
  return summary.interrupted ? RunState::kStopped : RunState::kFailed;
}

// Fills in what the record of the run's latest attempt says.
void add_record(PastRun& run, const Summary& summary) {
  run.state = state_of(summary);
  run.code = summary.code;
  run.ended_s = summary.ended_s;
  run.why = summary.text;
  run.command = summary.command;
  run.engine = summary.engine;
  run.ranks = summary.ranks;
  if (run.hosts.empty()) run.hosts = summary.hosts;
}

// Fills in how a run ended whose planned restart did not take place.
void add_ending(PastRun& run, const Ending& ending) {
  run.state = ending.stopped ? RunState::kStopped : RunState::kFailed;
  run.code = ending.code;
  if (ending.ended_s > 0) run.ended_s = ending.ended_s;
  run.why = ending.text;
}

// Sets the state of a run whose latest attempt has no record, so that it is unknown how it ended.
void add_state_without_record(PastRun& run, const std::string& folder) {
  const std::string elsewhere = owner_elsewhere(folder);
  const bool was_started = sys::exists(folder + "/out");
  if (!elsewhere.empty()) {
    run.state = RunState::kElsewhere;
    run.why = fmt::format("started on {}, where it may still run", elsewhere);
  } else if (was_started) {
    run.state = RunState::kKilled;
    run.why = fmt::format("{}; {}", how_muster_left(folder), what_hosts_do_alone(folder));
  }
}

std::optional<Summary> summary_in(const std::string& folder) {
  const auto text = sys::read_file(folder + "/record.json");
  auto summary = parse_summary(text ? *text : "");
  return summary ? std::optional(*std::move(summary)) : std::nullopt;
}

// The run started when its first attempt did. If that is unknown, returns when muster made the
// run's id.
double first_start(const std::string& folder) {
  if (const auto about = read_about(folder)) return about->started_s;
  const auto summary = summary_in(folder);
  return summary ? summary->started_s : time_of_id(id_of(folder));
}

}  // namespace

PastRun look_at_run(const std::string& base, bool is_over) {
  const int latest = std::max(latest_started(base), 0);
  const std::string first = runs_folder() + "/" + base;
  const std::string folder = runs_folder() + "/" + attempt_id(base, latest);
  PastRun run{.id = base, .started_s = first_start(first), .attempts = latest + 1};
  if (const auto about = read_about(folder)) {
    run.name = about->name;
    run.command = about->command;
    run.engine = about->engine;
    run.hosts = about->hosts;
    run.ranks = about->ranks;
  }
  const auto summary = summary_in(folder);
  if (summary) add_record(run, *summary);
  if (!summary) add_state_without_record(run, folder);
  const auto ending = kept_ending(folder);
  if (ending) add_ending(run, *ending);
  // While the hosts of the next attempt are being checked, that attempt has a folder but no output.
  const int newest = latest_attempt(base);
  const bool is_next_coming =
      newest > latest && living_owner(runs_folder() + "/" + attempt_id(base, newest)) != 0;
  const bool may_go_on = !summary || (!summary->started_again.empty() && !ending);
  if (!is_over && (is_next_coming || (may_go_on && living_owner(folder) != 0))) {
    run.state = RunState::kRunning;
    run.code.reset();
    run.ended_s.reset();
    run.why = summary ? "restarting: " + summary->text : "";
  }
  return run;
}

std::vector<std::string> newest_runs(std::size_t most) {
  std::vector<std::string> bases;
  for (const std::string& id : list_runs()) {
    const std::string base = parse_attempt(id).base;
    if (bases.empty() || bases.back() != base) bases.push_back(base);
  }
  std::reverse(bases.begin(), bases.end());
  if (most > 0 && bases.size() > most) bases.resize(most);
  return bases;
}

std::string state_name(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "running";
    case RunState::kOk:
      return "ok";
    case RunState::kFailed:
      return "failed";
    case RunState::kStopped:
      return "stopped";
    case RunState::kKilled:
      return "killed";
    case RunState::kNotStarted:
      return "not started";
    case RunState::kElsewhere:
      return "elsewhere";
  }
  return {};
}

double duration_of(const PastRun& run, double now_s) {
  if (run.started_s <= 0) return 0;
  const double end_s =
      run.state == RunState::kRunning ? now_s : run.ended_s.value_or(run.started_s);
  return std::max(end_s - run.started_s, 0.0);
}

nlohmann::ordered_json json_of(const PastRun& run, double now_s) {
  nlohmann::ordered_json json = {{"schema", 1},
                                 {"id", run.id},
                                 {"name", run.name},
                                 {"state", state_name(run.state)},
                                 {"code", nullptr},
                                 {"started", run.started_s},
                                 {"ended", nullptr},
                                 {"duration_s", duration_of(run, now_s)},
                                 {"hosts", run.hosts},
                                 {"ranks", run.ranks},
                                 {"attempts", run.attempts},
                                 {"command", run.command},
                                 {"engine", run.engine},
                                 {"why", run.why}};
  if (run.code) json["code"] = *run.code;
  if (run.ended_s) json["ended"] = *run.ended_s;
  return json;
}

}  // namespace muster::run
