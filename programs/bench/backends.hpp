// The backends that a command measures, made on every rank.
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
  std::vector<std::unique_ptr<Fabric>> fabrics;  // of the names
  std::vector<Missing> missing;
  std::unique_ptr<Fabric> meeting;  // what the ranks agreed over, where it is none of the fabrics
};

// In the order of `wanted`; the same on all ranks. Collective. Throws what is missing and what to
// do: with `optional`, only where no backend is left or the ranks cannot agree.
[[nodiscard]] Backends make_backends(const std::vector<std::string>& wanted, bool optional,
                                     const World& world);

}  // namespace muster::programs::bench
