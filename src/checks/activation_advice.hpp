// How to activate a Python environment or oneAPI on the hosts, for the fixes of findings. Pure.
#pragma once

#include <string>
#include <string_view>

#include "facts/facts.hpp"

namespace muster::checks {

// The --activate option for the venv or conda environment that is active on the launcher. If none
// is active, an example of each kind.
[[nodiscard]] std::string how_to_activate(const facts::Facts& launcher);

// Advice after the lines of --activate failed on a host with this message.
[[nodiscard]] std::string activation_advice(std::string_view lines, std::string_view failure);

}  // namespace muster::checks
