// `muster agent`: the process that the launcher starts on each host, one a run. It tells the host's
// facts and then stays as the run's warden.
#pragma once

#include <optional>

namespace muster::agent {

// Takes over when the command line is `muster agent`; nothing: it is not.
// `muster agent --hash` prints the hash of the running binary.
[[nodiscard]] std::optional<int> agent_main(int argc, char** argv);

}  // namespace muster::agent
