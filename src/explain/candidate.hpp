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
  bool may_be_of_others = false;  // the kernel said it of a process that may not be the rank
};

[[nodiscard]] Tier tier_of(const catalogue::Failure& failure);

}  // namespace muster::explain
