// An entry in the list of runs: all attempts of a run together.
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
  kStopped,     // by a signal to muster: Ctrl-C or muster stop
  kKilled,      // muster was killed or this machine rebooted, so nothing was recorded
  kNotStarted,  // rejected by the checks, or --dry-run
  kElsewhere,   // started on another machine, where it may still run
};

struct PastRun {
  std::string id;
  std::string name = {};
  RunState state = RunState::kNotStarted;
  std::optional<int> code = std::nullopt;  // muster's exit code, if the run has ended
  double started_s = 0;  // start of the first attempt, or else of muster; 0: unknown
  std::optional<double> ended_s = std::nullopt;
  std::vector<std::string> hosts = {};  // of the latest attempt
  int ranks = 0;
  int attempts = 0;
  std::string command = {};
  std::string engine = {};
  std::string why = {};  // why it ended; empty if it succeeded or still runs
};

// Reads the files of the run's attempts. `is_over` means that all attempts have ended, even if the
// supervising process is alive (it may be this one).
[[nodiscard]] PastRun look_at_run(const std::string& base, bool is_over = false);

// The newest `most` runs, newest first; 0 means all.
[[nodiscard]] std::vector<std::string> newest_runs(std::size_t most = 0);

// Returns a word such as "failed".
[[nodiscard]] std::string state_name(RunState state);

// The time from the run's start to its end, or to `now_s` if it still runs.
[[nodiscard]] double duration_of(const PastRun& run, double now_s);

// The run as a JSON object, for `muster runs --json` and others.
[[nodiscard]] nlohmann::ordered_json json_of(const PastRun& run, double now_s);

}  // namespace muster::run
