// Exchanges measurements between ranks over a fabric.
#pragma once

#include <string>
#include <vector>

#include "programs/bench/fabric.hpp"

namespace muster::programs::bench {

// Collective. Every rank gets the values of all ranks, in rank order.
[[nodiscard]] std::vector<std::string> gather_texts(Fabric& fabric, const std::string& own);
[[nodiscard]] std::vector<double> gather_number(Fabric& fabric, double own);

}  // namespace muster::programs::bench
