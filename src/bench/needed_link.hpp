// Computes which link would hide a training's communication behind its computation. Nothing is
// measured.
#pragma once

#include <string>
#include <vector>

#include "bench/results.hpp"

namespace muster::bench {

// Bits per second that a host's link must carry. 0: nothing has to be carried, or it is unknown.
struct NeededLink {
  // Hides the all-reduce of the gradients behind the backward pass, on `hosts` hosts.
  double replicated = 0;
  double replicated_many = 0;  // like `replicated`, in the limit of many hosts
  // With ZeRO-3 or FSDP, hides gathering the parameters twice and scattering the gradients once per
  // step behind the whole computation.
  double sharded = 0;
  double sharded_many = 0;
  std::string sentence = {};
};

[[nodiscard]] NeededLink needed_link(const Training& training, int hosts);

// Returns one sentence per model about the link that the largest measured number of hosts would
// need. Computes it from the model's training on the fewest hosts, over any backend, because the
// computation is the same over all of them.
[[nodiscard]] std::vector<std::string> needed_links(const Results& results);

}  // namespace muster::bench
