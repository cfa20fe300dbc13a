// Host expressions as people write them: node[01-16]:4,launcher
#pragma once

#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "hosts/host.hpp"

namespace muster::hosts {

[[nodiscard]] Result<std::vector<Host>> parse_expression(std::string_view text);

}  // namespace muster::hosts
