// What the list of runs tells about a run: all its attempts together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace muster::run {

enum class RunState {
  kRunning,
  kOk,
  kFailed,
  kStopped,     // by a signal to muster: Ctrl-C, muster stop
  kKilled,      // muster was killed and recorded nothing
  kNotStarted,  // refused, or --dry-run
  kElsewhere,   // started on another machine, where it may still run
};

struct PastRun {
  std::string id;
  std::string name = {};
  RunState state = RunState::kNotStarted;
  std::optional<int> code = std::nullopt;  // muster's exit code, of a run that has ended
  double started_s = 0;  // the first attempt, or when muster was asked for it; 0: unknown
  std::optional<double> ended_s = std::nullopt;
  std::vector<std::string> hosts = {};  // of the latest attempt
  int ranks = 0;
  int attempts = 0;
  std::string command = {};
  std::string engine = {};
  std::string why = {};  // it ended; empty: it succeeded, or runs
};

// Reads the files of the run's attempts. `is_over`: all of them have ended, although the process
// that looks after the run is alive (it may be this one).
[[nodiscard]] PastRun look_at_run(const std::string& base, bool is_over = false);

// Of all runs, newest first; `most` of them, 0: all.
[[nodiscard]] std::vector<std::string> newest_runs(std::size_t most = 0);

// "failed"
[[nodiscard]] std::string state_name(RunState state);

// From the start to the end, or to `now_s` if it runs.
[[nodiscard]] double duration_of(const PastRun& run, double now_s);

// The same content as the table, for programs.
[[nodiscard]] nlohmann::ordered_json json_of(const PastRun& run, double now_s);

}  // namespace muster::run
