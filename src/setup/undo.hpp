// Takes back what `muster setup` did, on hosts and here, and forgets single hosts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "setup/setup.hpp"

namespace muster::setup {

struct UndoRequest {
  std::vector<std::string> hosts;          // to be reached; both empty: all set up from here
  std::vector<std::string> given_up = {};  // taken off the list without being reached
  bool dry_run = false;
};

// Host by host; one that cannot be reached stays on the list with all that is needed to undo it
// later. After the last host this machine's own files go.
[[nodiscard]] Result<SetupResult> undo(const UndoRequest& request);

// Drops the pinned keys of these hosts; the result says which they were.
[[nodiscard]] Result<SetupResult> forget(std::span<const std::string> hosts, bool dry_run);

}  // namespace muster::setup
