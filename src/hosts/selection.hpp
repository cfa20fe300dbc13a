// --include and --exclude: select the hosts that take part.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "hosts/host.hpp"
#include "hosts/source.hpp"

namespace muster::hosts {

struct Selection {
  std::vector<Host> hosts;  // slots are not used
  Where where = {};         // the flag or file that contains the selection
};

// Parses a host expression without slots. Also accepts DeepSpeed's "worker-0@worker-1".
[[nodiscard]] Result<Selection> parse_selection(const Source& source);

// Keeps the selected hosts, in their order. An Error names a selected host that does not exist,
// since that is most likely a typing mistake.
[[nodiscard]] Result<std::vector<Host>> include(std::vector<Host> hosts, const Selection& wanted);

// Removes the selected hosts. An Error names a selected host that does not exist. Fails if no host
// is left.
[[nodiscard]] Result<std::vector<Host>> exclude(std::vector<Host> hosts, const Selection& unwanted);

}  // namespace muster::hosts
