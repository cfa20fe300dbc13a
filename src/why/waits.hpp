// Who waits for whom. Pure.
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
  std::string group = {};  // its name; empty: the default group, or not known
  std::string operation = {};
  std::int64_t number = 0;  // 0: not known, since no recorder told it
  std::string sizes = {};
  bool recorded = false;
  Ranks waiting = {};
  Ranks begun_elsewhere = {};  // have begun it, but do something else
  Ranks missing = {};          // have not begun it
  Ranks unclear = {};          // may be in it or not: too little was seen of them
  double age_s = 0;            // how long most of the waiting ranks have waited; for recorded ones
  double longest_gap_s = 0;    // between two collectives before
};

struct Waits {
  std::vector<Gathering> gatherings = {};  // those with most waiting ranks first
  Ranks waiting = {};                      // in any of them
  Ranks culprits = {};                     // waited for, and do not wait for anybody themselves
  Ranks unclear = {};                      // of any gathering, unless they wait in another
};

// One step of a circle: the rank waits in the gathering for the rank of the next step.
struct Step {
  const RankReading* rank = nullptr;
  const Gathering* gathering = nullptr;
};

[[nodiscard]] Waits find_waits(const std::vector<RankReading>& ranks);

// Ranks that wait for each other in a circle; empty: there is none. Refers to `waits`.
[[nodiscard]] std::vector<Step> find_circle(const Waits& waits);

// "all_reduce #12", "all_reduce #3 of group tp".
[[nodiscard]] std::string name_of(const Gathering& gathering);

// The gathering in which most ranks wait for this one; null: nobody waits for it.
[[nodiscard]] const Gathering* main_gathering(const Waits& waits, const RankReading& rank);

[[nodiscard]] bool is_default(const inspect::Group& group);

// Groups of this name, backend and members are the same one on all ranks.
[[nodiscard]] std::string key_of(const inspect::Group& group);

}  // namespace muster::why
