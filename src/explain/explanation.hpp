// What the evidence of a log means: the root cause, what else may be one, and what only followed.
// Pure.
#pragma once

#include <map>
#include <optional>
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

// A failure of the catalogue, an exception of the program, or both.
struct Cause {
  const catalogue::Failure* failure = nullptr;
  std::optional<SeenException> exception = std::nullopt;
  Place place;
  Origin origin;     // of the line that shows it
  std::string text;  // that line
  std::vector<int> ranks = {};
  std::vector<std::string> hosts = {};
  std::map<std::string, std::string> values = {};  // for placeholders
  // Those that may be part of a step, which people paste into a shell: single plain words, and no
  // host that is not of the run.
  std::map<std::string, std::string> step_values = {};
  std::uint64_t order = 0;
};

// What is known about the run beyond its output.
struct RunKnowledge {
  int first_failed_rank = -1;
  std::string verdict = {};  // "rank 3 on n2 ended with exit code 1"
  std::vector<std::string> hosts = {};
};

struct Explanation {
  Confidence confidence = Confidence::kNone;
  std::vector<Cause> causes = {};  // the root cause first
  std::vector<Cause> consequences = {};
  std::vector<Oddity> oddities = {};  // if there is no cause
  std::string verdict = {};           // of the run
  std::uint64_t lines = 0;
};

[[nodiscard]] Explanation explain(const Evidence& evidence, const RunKnowledge& run = {});

// Replaces "{host}" by its value or, if it has none, by "HOST"; "{{" is a brace.
[[nodiscard]] std::string filled(const std::string& text,
                                 const std::map<std::string, std::string>& values);
// "high"
[[nodiscard]] std::string name_of(Confidence confidence);

}  // namespace muster::explain
