// What the ranks of a run that says nothing were doing. Pure.
#pragma once

#include <span>
#include <string>

#include "agent/look.hpp"

namespace muster::run {

// A rank as it was seen twice, a moment apart.
struct Seen {
  int rank = 0;
  std::string host;
  agent::RankLook look = {};
  double cpu_s = 0;   // used between the two
  double span_s = 0;  // the time between them
};

// A line a rank, for the run's folder.
[[nodiscard]] std::string stalled_text(std::span<const Seen> ranks);

// "rank 3 on n2 is stopped (SIGSTOP, or a debugger)": the one thing that tells most; empty: nothing
// was seen.
[[nodiscard]] std::string what_stands_out(std::span<const Seen> ranks);

}  // namespace muster::run
