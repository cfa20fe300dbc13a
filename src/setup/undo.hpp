// Undoes `muster setup`, on hosts and on the launcher, and forgets single hosts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "setup/setup.hpp"

namespace muster::setup {

struct UndoRequest {
  // Hosts to undo. If this list and `given_up` are empty: all hosts that were set up from here.
  std::vector<std::string> hosts;
  std::vector<std::string> given_up = {};  // hosts to drop from the list without reaching them
  bool dry_run = false;
};

// Undoes host by host. A host that cannot be reached stays on the list, with everything needed to
// undo it later. After the last host, this machine's own files are removed.
[[nodiscard]] Result<SetupResult> undo(const UndoRequest& request);

// Removes the pinned keys of these hosts. The result lists which ones had a pinned key.
[[nodiscard]] Result<SetupResult> forget(std::span<const std::string> hosts, bool dry_run);

}  // namespace muster::setup
