// An engine that is started on a host itself, as torchrun is: `muster engine --run ID --folder DIR
// -- argv`. Gives it the activated environment and the variables that the launcher handed to the
// agent, and becomes it. The run's id in its environment tells the warden that it is ours to end.
#pragma once

#include <optional>

namespace muster::agent {

// Takes over when the command line is `muster engine`; returns only when it fails.
[[nodiscard]] std::optional<int> engine_main(int argc, char** argv);

}  // namespace muster::agent
