// What may be the root cause, before it is decided what is. Pure.
#pragma once

#include "explain/explanation.hpp"

namespace muster::explain {

// From the most to the least likely root cause.
enum class Tier { kCause, kDoubtful, kConsequence, kIgnored };

struct Candidate {
  Tier tier = Tier::kIgnored;
  Cause cause;
  bool is_proven = false;  // by the system itself: nothing that a program says goes before it
  // Why it may have nothing to do with the rank, if only a kernel's log shows it. nullptr: it has.
  const char* doubt = nullptr;
  bool is_crash = false;  // the signal that ended the rank shows it, so no line needs to
};

[[nodiscard]] Tier tier_of(const catalogue::Failure& failure);
[[nodiscard]] bool is_of_rank(const Cause& cause, int rank);

}  // namespace muster::explain
