// Which link hides a training's communication behind its computation: reckoned, not measured.
#pragma once

#include <string>
#include <vector>

#include "bench/results.hpp"

namespace muster::bench {

// Bits a second that a host's link must carry. 0: nothing needs to be carried, or nobody knows.
struct NeededLink {
  double replicated = 0;       // on `hosts` hosts: all-reduce of the gradients behind the backward
  double replicated_many = 0;  // the limit on many hosts
  double sharded = 0;          // ZeRO-3, FSDP: parameters gathered twice, gradients scattered
  double sharded_many = 0;
  std::string sentence = {};
};

[[nodiscard]] NeededLink needed_link(const Training& training, int hosts);

// The sentence of each model, from its training on the fewest hosts, for the most hosts that it was
// measured on. Its computation is the same over every backend.
[[nodiscard]] std::vector<std::string> needed_links(const Results& results);

}  // namespace muster::bench
