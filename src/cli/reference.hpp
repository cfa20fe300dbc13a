// The data from which tools/write_reference makes docs/reference.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace muster::cli {

// One JSON object: all commands with their flags, exit codes, variables that ranks always get, the
// schema of muster.yaml with the flags of its keys, and the schemas of the JSON outputs that are
// written from structs.
[[nodiscard]] std::string reference_json(const CLI::App& app);

}  // namespace muster::cli
