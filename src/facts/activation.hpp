// Runs the shell lines of --activate on a host, and returns the environment that they produce.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"
#include "facts/mpi.hpp"

namespace muster::facts {

struct Activation {
  std::string failure = {};    // empty: the lines succeeded
  Variables environment = {};  // after the lines; may hold secrets
};

// Parses what the shell printed: `mark`, NAME=value entries and `mark` again, each ended by NUL.
// Returns nothing if a mark is missing, because then the lines did not run to their end.
[[nodiscard]] std::optional<Variables> parse_environment(std::string_view text,
                                                         std::string_view mark);

// Runs the lines with bash, or with sh if there is no bash. With bash the first failing line ends
// the activation, unless it is inside a sourced file. With sh only the exit code of the last line
// counts. The lines get no input, and their output is only used for the text of a failure.
[[nodiscard]] Activation activate(const std::string& lines, const Variables& own,
                                  std::chrono::milliseconds deadline = std::chrono::seconds(60));

// Returns hashes of the values of all variables that are new or different in `after`, by name.
// Leaves out the variables that every shell changes.
[[nodiscard]] std::map<std::string, std::string> changed_digest(const Variables& before,
                                                                const Variables& after);

// Returns the variables that name directories or GPUs.
[[nodiscard]] std::map<std::string, std::string> seen_values(const Variables& environment);

// Returns the variables that configure NCCL, MPI, PyTorch, OpenMP and similar libraries. Leaves out
// those that choose GPUs, because they may differ between hosts and job steps. Long values are
// replaced by their hashes.
[[nodiscard]] std::map<std::string, std::string> library_settings(const Variables& environment);

}  // namespace muster::facts
