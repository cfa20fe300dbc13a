// How to activate a Python environment or oneAPI on the hosts, for the fixes of findings. Pure.
#pragma once

#include <string>
#include <string_view>

#include "facts/facts.hpp"

namespace muster::checks {

// Returns the --activate option for the venv or conda environment that is active on the launcher.
// If none is active, returns one example for a venv and one for conda.
[[nodiscard]] std::string how_to_activate(const facts::Facts& launcher);

// Returns what the user can do after the `lines` of --activate failed on a host with the message
// `failure`.
[[nodiscard]] std::string activation_advice(std::string_view lines, std::string_view failure);

}  // namespace muster::checks
