// --include and --exclude: which of the hosts take part.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "hosts/host.hpp"
#include "hosts/source.hpp"

namespace muster::hosts {

struct Selection {
  std::vector<Host> hosts;  // slots unused
  Where where = {};         // the flag or file that said it
};

// A host expression without slots; DeepSpeed's "worker-0@worker-1" is understood too.
[[nodiscard]] Result<Selection> parse_selection(const Source& source);

// Keeps the hosts selected, in the order they had. A selected host that is not there is an Error
// that names it: most likely a typo.
[[nodiscard]] Result<std::vector<Host>> include(std::vector<Host> hosts, const Selection& wanted);

// Likewise without the hosts selected; an Error when none is left.
[[nodiscard]] Result<std::vector<Host>> exclude(std::vector<Host> hosts, const Selection& unwanted);

}  // namespace muster::hosts
