// `muster agent`: the process that the launcher starts on each host, one per run. It reports the
// host's facts and then stays as the run's warden (see warden.hpp).
#pragma once

#include <optional>

namespace muster::agent {

// Runs the agent if the command line is `muster agent` and returns its exit code; otherwise returns
// nothing. `muster agent --hash` prints the hash of the running binary.
[[nodiscard]] std::optional<int> agent_main(int argc, char** argv);

}  // namespace muster::agent
