// Many names as one short expression.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hosts/host.hpp"

namespace muster::hosts {

// An expression that parse_expression reads back as the same hosts with the same slots, in natural
// order (n2 before n10): "launcher,node[01-16]:4". The order of `hosts` is not kept. For names
// with one number it is what ClusterShell prints. Of the numbers in which names differ, at most the
// last four become ranges. Cost: n log n.
[[nodiscard]] std::string fold(std::span<const Host> hosts);
[[nodiscard]] std::string fold(std::span<const std::string> names);

}  // namespace muster::hosts
