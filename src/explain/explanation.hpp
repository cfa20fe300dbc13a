// Derives from the evidence of a log the root cause, other possible causes, and failures that only
// followed. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explain/scan.hpp"

namespace muster::explain {

enum class Confidence {
  kNone,    // the catalogue knows nothing in the log
  kLow,     // only warnings and consequences
  kMedium,  // there is a cause, but it is not certain
  kHigh,    // one cause explains the log
};

// A failure of the catalogue, an exception of the program, or both. If it is neither, `text` is
// what a rank printed before it gave up.
struct Cause {
  const catalogue::Failure* failure = nullptr;
  std::optional<SeenException> exception = std::nullopt;
  Place place;
  Origin origin;  // of the line that shows the cause
  // The line that shows the cause. Without a place, the fact that shows it, such as how the rank
  // ended.
  std::string text;
  std::vector<int> ranks = {};
  std::vector<std::string> hosts = {};
  std::map<std::string, std::string> values = {};  // for placeholders
  // The values that may be inserted into steps, which users paste into a shell. Only single plain
  // words, and no host that does not belong to the run.
  std::map<std::string, std::string> step_values = {};
  std::uint64_t order = 0;
  // What the checks found about the same failure before the run; empty if nothing.
  std::string found_before = {};
};

// The signal that ended the rank that failed first, if the engine did not send it.
struct FatalSignal {
  int signal = 0;
  bool memory_ran_out = false;  // the kernel had killed a process on the host for lack of memory
  std::string text = {};        // "signal 9 (Killed)"
};

// A finding of the checks before the run.
struct CheckFinding {
  std::string id;                       // in the failure catalogue
  std::vector<std::string> hosts = {};  // empty: all hosts
  std::string what;
  bool is_error = false;  // false: a warning
};

// What is known about the run in addition to its output.
struct RunKnowledge {
  int first_failed_rank = -1;
  std::string first_failed_host = {};
  int first_failed_pid = 0;  // 0: unknown
  std::string verdict = {};  // "rank 3 on n2 ended with exit code 1"
  std::vector<std::string> hosts = {};
  std::optional<FatalSignal> fatal_signal = std::nullopt;
  std::set<int> gave_up_ranks = {};  // ranks that failed with an exit code or by abort()
  bool ended_by_muster = false;      // although no rank had failed
  std::vector<CheckFinding> findings = {};
  // Kernel messages since the run began: `kernel` from the host of the rank that failed first,
  // `other_kernels` from the other hosts.
  Evidence kernel = {};
  Evidence other_kernels = {};
};

struct Explanation {
  Confidence confidence = Confidence::kNone;
  std::string reason = {};         // explains the confidence; empty with kNone
  std::vector<Cause> causes = {};  // the root cause first
  std::vector<Cause> consequences = {};
  std::vector<Oddity> oddities = {};  // empty with kHigh or several causes
  std::string verdict = {};           // verdict of the run
  std::uint64_t lines = 0;
};

[[nodiscard]] Explanation explain(const Evidence& evidence, const RunKnowledge& run = {});

[[nodiscard]] inline bool is_parting_words(const Cause& cause) {
  return cause.failure == nullptr && !cause.exception;
}

// Replaces "{host}" with its value, or with "HOST" if it has none, and "{{" with a single brace.
[[nodiscard]] std::string filled(const std::string& text,
                                 const std::map<std::string, std::string>& values);
// Returns "high", for example.
[[nodiscard]] std::string name_of(Confidence confidence);

}  // namespace muster::explain
