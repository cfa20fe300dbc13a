// Creates the backends that a command measures, on every rank.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "programs/bench/fabric.hpp"

namespace muster::programs::bench {

struct Backends {
  struct Missing {
    std::string name;
    std::string why;
  };
  std::vector<std::string> names;
  std::vector<std::unique_ptr<Fabric>> fabrics;  // in the order of `names`
  std::vector<Missing> missing;
  // The fabric over which the ranks agreed, if it is not one of `fabrics`.
  std::unique_ptr<Fabric> meeting;
};

// Collective. Creates the backends in the order of `wanted`; the result is the same on all ranks.
// If one cannot be created, throws an error that says what is missing and what to do. With
// `optional`, throws only if no backend is left or the ranks cannot agree.
[[nodiscard]] Backends make_backends(const std::vector<std::string>& wanted, bool optional,
                                     const World& world);

}  // namespace muster::programs::bench
