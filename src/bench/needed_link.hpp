// Computes which link would hide a training's communication behind its computation. Nothing is
// measured.
#pragma once

#include <string>
#include <vector>

#include "bench/results.hpp"

namespace muster::bench {

// Bits per second that a host's link must carry. 0: nothing has to be carried, or it is unknown.
struct NeededLink {
  // On `hosts` hosts: the all-reduce of the gradients must be hidden behind the backward pass.
  double replicated = 0;
  double replicated_many = 0;  // like `replicated`, in the limit of many hosts
  // With ZeRO-3 or FSDP: parameters are gathered twice and gradients scattered once.
  double sharded = 0;
  double sharded_many = 0;
  std::string sentence = {};
};

[[nodiscard]] NeededLink needed_link(const Training& training, int hosts);

// One sentence per model. It uses the model's training on the fewest hosts, because the computation
// is the same over every backend, and names the link that the largest measured number of hosts
// would need.
[[nodiscard]] std::vector<std::string> needed_links(const Results& results);

}  // namespace muster::bench
