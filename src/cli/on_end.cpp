#include "cli/on_end.hpp"

#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/run_status.hpp"
#include "run/past_run.hpp"
#include "sys/clock.hpp"
#include "sys/print.hpp"
#include "sys/process.hpp"

namespace muster::cli {
namespace {

constexpr std::chrono::minutes kOnEndTakes{1};

std::string result_of(const run::Turn& turn, const Result<run::Ending>& end) {
  run::PastRun run = run::look_at_run(turn.base, true);
  const run::Ending ending = ending_of(end);
  run.code = ending.code;
  // If a run was rejected, or stopped before its next attempt, no record contains the reason.
  if (!ending.text.empty()) run.why = ending.text;
  if (!end && run.state == run::RunState::kKilled) run.state = run::RunState::kFailed;
  if (run.name.empty()) run.name = turn.name;  // for a run that never started
  return json_text(json_of(run, sys::unix_time())) + "\n";
}

}  // namespace

void tell_end(const std::string& command, const run::Turn& turn, const Result<run::Ending>& end) {
  if (command.empty()) return;
  const auto ended =
      sys::run({.argv = {"/bin/sh", "-c", command},
                .input = std::make_shared<const std::string>(result_of(turn, end)),
                .deadline = kOnEndTakes,
                .on_output = [](sys::Stream, std::string_view text) { sys::write_err(text); }});
  if (ended && ended->ok()) return;
  sys::print_err("muster: the command of --on-end failed: {}\n",
                 ended ? to_text(*ended) : to_text(ended.error()));
}

}  // namespace muster::cli
