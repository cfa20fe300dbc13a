// Writes many names as one short expression.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hosts/host.hpp"

namespace muster::hosts {

// Returns an expression that parse_expression reads back as the same hosts with the same slots:
// "launcher,node[01-16]:4". The hosts are in natural order (n2 before n10), not in the order of
// `hosts`. For names with one number it equals the output of ClusterShell. If names differ in more
// than four numbers, only the last four become ranges. Cost: n log n.
[[nodiscard]] std::string fold(std::span<const Host> hosts);
[[nodiscard]] std::string fold(std::span<const std::string> names);

}  // namespace muster::hosts
