// The saved states of hosts: one file per host, in the user's state folder.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "facts/saved_state.hpp"

namespace muster::cli {

[[nodiscard]] std::string saved_states_folder();

// Of those hosts that have one. Where a file cannot be used, `problem` says why. Cost: a small file
// for each host.
[[nodiscard]] std::vector<facts::SavedState> read_saved_states(
    const std::vector<std::string>& hosts);

// Replaces those that are there. Cost: for each host, waits twice for the disk.
[[nodiscard]] Result<void> write_saved_states(const std::vector<facts::SavedState>& states);

}  // namespace muster::cli
