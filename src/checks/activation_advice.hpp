// How to activate a Python environment or oneAPI on the hosts, for findings. Pure.
#pragma once

#include <string>
#include <string_view>

#include "facts/facts.hpp"

namespace muster::checks {

// The --activate for the venv or conda environment that is active on the launcher; where none is,
// an example for each kind.
[[nodiscard]] std::string how_to_activate(const facts::Facts& launcher);

// What to do about the lines of --activate that failed on a host with this failure.
[[nodiscard]] std::string activation_advice(std::string_view lines, std::string_view failure);

}  // namespace muster::checks
