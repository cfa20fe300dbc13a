// `muster engine --run ID --folder DIR -- argv` starts an engine that runs on each host, such as
// torchrun. It sets the activated environment and the variables that the launcher sent to the
// agent, then replaces itself with the engine. The engine's environment contains the run's id, by
// which the warden finds the processes that it must end.
#pragma once

#include <optional>

namespace muster::agent {

// If the command line is `muster engine`, becomes the engine, or returns an exit code if that
// fails. Returns nothing for other command lines.
[[nodiscard]] std::optional<int> engine_main(int argc, char** argv);

}  // namespace muster::agent
