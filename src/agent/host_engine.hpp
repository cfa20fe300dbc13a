// `muster engine --run ID --folder DIR -- argv` starts an engine that runs on each host, such as
// torchrun. It sets the activated environment and the variables that the launcher sent to the
// agent, then replaces itself by the engine. The run's id in its environment tells the warden to
// end it.
#pragma once

#include <optional>

namespace muster::agent {

// Runs if the command line is `muster engine`, and returns only if that fails. Returns nothing for
// other command lines.
[[nodiscard]] std::optional<int> engine_main(int argc, char** argv);

}  // namespace muster::agent
