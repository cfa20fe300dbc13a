// The rows of a table of bandwidths in pods, where each pod starts its own ranks. Pure.
#pragma once

#include <vector>

namespace muster::bench {

// How many of the first pods take part, with how many ranks each.
struct PodShare {
  int pods = 1;
  int ranks_per_pod = 1;

  friend bool operator==(const PodShare&, const PodShare&) = default;
};

// 2, 4, 8, ... ranks and all ranks of the first pod, then all ranks of 2, 4, ... pods and of all
// pods. Every pod computes the same list. Empty: there is only one rank.
[[nodiscard]] std::vector<PodShare> pod_shares(int pods, int ranks_per_pod);

}  // namespace muster::bench
