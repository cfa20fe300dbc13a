// Decides which ranks take part in each row of a bandwidth table when muster runs in pods, where
// each pod starts its own ranks. Pure.
#pragma once

#include <vector>

namespace muster::bench {

// How many pods take part, counted from the first one, and with how many ranks each.
struct PodShare {
  int pods = 1;
  int ranks_per_pod = 1;

  friend bool operator==(const PodShare&, const PodShare&) = default;
};

// Returns the rows in their order: 2, 4, 8, ... and all ranks of the first pod, then all ranks of
// 2, 4, ... and of all pods. Every pod computes the same list. Empty if there is only one rank.
[[nodiscard]] std::vector<PodShare> pod_shares(int pods, int ranks_per_pod);

}  // namespace muster::bench
