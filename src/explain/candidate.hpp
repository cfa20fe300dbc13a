// Failures that may be the root cause, before explain() chooses between them. Pure.
#pragma once

#include "explain/explanation.hpp"

namespace muster::explain {

// From the most to the least likely root cause.
enum class Tier { kCause, kDoubtful, kConsequence, kIgnored };

struct Candidate {
  Tier tier = Tier::kIgnored;
  Cause cause;
  bool is_proven = false;  // the system proves it, which outweighs all that programs print
  // If only a kernel's log shows the failure: why it may not concern the rank. nullptr if there is
  // no such doubt.
  const char* doubt = nullptr;
  // The signal that ended the rank is proof enough, so no line of the log is needed.
  bool is_crash = false;
};

[[nodiscard]] Tier tier_of(const catalogue::Failure& failure);
[[nodiscard]] bool is_of_rank(const Cause& cause, int rank);

}  // namespace muster::explain
