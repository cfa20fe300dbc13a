// Finds out which ranks wait for which. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "why/rank_reading.hpp"

namespace muster::why {

using Ranks = std::vector<const RankReading*>;

// An operation in which ranks wait for others.
struct Gathering {
  enum class What { kCollective, kPointToPoint, kRendezvous, kTeardown };
  What what = What::kCollective;
  std::string group = {};  // its name; empty: the default group, or unknown
  std::string operation = {};
  std::int64_t number = 0;  // 0: unknown, because no recorder reported it
  std::string sizes = {};
  bool recorded = false;
  Ranks waiting = {};
  Ranks begun_elsewhere = {};  // they have begun it but do something else
  Ranks missing = {};          // they have not begun it
  Ranks unclear = {};          // they may or may not be in it: too little was seen of them
  double age_s = 0;            // median time that the waiting ranks have waited; only if recorded
  double longest_gap_s = 0;    // longest time between two earlier collectives
};

struct Waits {
  std::vector<Gathering> gatherings = {};  // those with the most waiting ranks first
  Ranks waiting = {};                      // they wait in some gathering
  // Other ranks wait for them, and they wait for no rank themselves.
  Ranks culprits = {};
  Ranks unclear = {};  // unclear in some gathering, and not waiting in another
};

// One step of a circle: the rank waits in the gathering for the rank of the next step.
struct Step {
  const RankReading* rank = nullptr;
  const Gathering* gathering = nullptr;
};

[[nodiscard]] Waits find_waits(const std::vector<RankReading>& ranks);

// Returns ranks that wait for each other in a circle; none if there is no circle. Refers to
// `waits`.
[[nodiscard]] std::vector<Step> find_circle(const Waits& waits);

// For example "all_reduce #12" or "all_reduce #3 of group tp".
[[nodiscard]] std::string name_of(const Gathering& gathering);

// Returns the gathering in which the most ranks wait for this one; null if no rank does.
[[nodiscard]] const Gathering* main_gathering(const Waits& waits, const RankReading& rank);

[[nodiscard]] bool is_default(const inspect::Group& group);

// Returns a key that is the same for a group on all of its ranks. It consists of the group's
// backend, name and members.
[[nodiscard]] std::string key_of(const inspect::Group& group);

}  // namespace muster::why
