#pragma once

#include <CLI/CLI.hpp>

namespace muster::cli {

// Reads the words of a line from standard input and prints what could follow. The scripts of
// `muster completion` call this. Returns the exit code.
[[nodiscard]] int answer_completion(const CLI::App& app);

}  // namespace muster::cli
