// What ranks tell each other over a fabric about what they measured.
#pragma once

#include <string>
#include <vector>

#include "programs/bench/fabric.hpp"

namespace muster::programs::bench {

// Of every rank, by rank; every rank has the result. Collective.
[[nodiscard]] std::vector<std::string> gather_texts(Fabric& fabric, const std::string& own);
[[nodiscard]] std::vector<double> gather_number(Fabric& fabric, double own);

}  // namespace muster::programs::bench
