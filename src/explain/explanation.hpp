// What the evidence of a log means: the root cause, what else may be one, and what only followed.
// Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explain/scan.hpp"

namespace muster::explain {

enum class Confidence {
  kNone,    // nothing in the log is known
  kLow,     // only warnings and consequences
  kMedium,  // several causes are possible
  kHigh,    // one cause explains the log
};

// A failure of the catalogue, an exception of the program, or both. Neither: what a rank printed
// before it gave up.
struct Cause {
  const catalogue::Failure* failure = nullptr;
  std::optional<SeenException> exception = std::nullopt;
  Place place;
  Origin origin;  // of the line that shows it
  // That line. Without a place: what else shows the cause, such as how the rank ended.
  std::string text;
  std::vector<int> ranks = {};
  std::vector<std::string> hosts = {};
  std::map<std::string, std::string> values = {};  // for placeholders
  // Those that may be part of a step, which people paste into a shell: single plain words, and no
  // host that is not of the run.
  std::map<std::string, std::string> step_values = {};
  std::uint64_t order = 0;
  std::string found_before = {};  // what the checks found before the run, of the same failure
};

// How the rank that failed first was ended, if that was by a signal and not by the engine.
struct FatalSignal {
  int signal = 0;
  bool memory_ran_out = false;  // the kernel had killed a process there for that
  std::string text = {};        // "signal 9 (Killed)"
};

// What the checks found before the run.
struct CheckFinding {
  std::string id;                       // of the catalogue
  std::vector<std::string> hosts = {};  // empty: all
  std::string what;
  bool is_error = false;  // and no warning
};

// What is known about the run beyond its output.
struct RunKnowledge {
  int first_failed_rank = -1;
  std::string first_failed_host = {};
  int first_failed_pid = 0;  // 0: unknown
  std::string verdict = {};  // "rank 3 on n2 ended with exit code 1"
  std::vector<std::string> hosts = {};
  std::optional<FatalSignal> fatal_signal = std::nullopt;
  std::set<int> gave_up_ranks = {};  // failed with an exit code, or by abort()
  bool ended_by_muster = false;      // and no rank had failed
  std::vector<CheckFinding> findings = {};
  // What the kernels said since the run began: on the host of that rank, and on the others.
  Evidence kernel = {};
  Evidence other_kernels = {};
};

struct Explanation {
  Confidence confidence = Confidence::kNone;
  std::string reason = {};         // of that confidence; empty if there is no cause
  std::vector<Cause> causes = {};  // the root cause first
  std::vector<Cause> consequences = {};
  std::vector<Oddity> oddities = {};  // if there is no cause
  std::string verdict = {};           // of the run
  std::uint64_t lines = 0;
};

[[nodiscard]] Explanation explain(const Evidence& evidence, const RunKnowledge& run = {});

[[nodiscard]] inline bool is_parting_words(const Cause& cause) {
  return cause.failure == nullptr && !cause.exception;
}

// Replaces "{host}" by its value or, if it has none, by "HOST"; "{{" is a brace.
[[nodiscard]] std::string filled(const std::string& text,
                                 const std::map<std::string, std::string>& values);
// "high"
[[nodiscard]] std::string name_of(Confidence confidence);

}  // namespace muster::explain
