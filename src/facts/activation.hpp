// Runs the lines that make a host's environment ready, and keeps what they made of it.
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
  std::string failure = {};    // empty: it ended well
  Variables environment = {};  // afterwards; may hold secrets
};

// The environment out of what the shell printed: `mark`, NAME=value entries and `mark` again, each
// ended by NUL. Nothing: a mark is missing, so the lines did not get to their end.
[[nodiscard]] std::optional<Variables> parse_environment(std::string_view text,
                                                         std::string_view mark);

// With bash where there is one, else with sh. With bash a line that fails ends the activation; what
// fails inside a file that is sourced does not. With sh only the last line's end counts. The lines
// read no input, and what they print is kept for a failure's text only.
[[nodiscard]] Activation activate(const std::string& lines, const Variables& own,
                                  std::chrono::milliseconds deadline = std::chrono::seconds(60));

// The hash of the value of each variable that differs from `before`; not those that every shell
// changes.
[[nodiscard]] std::map<std::string, std::string> changed_digest(const Variables& before,
                                                                const Variables& after);

// The values of the variables that name folders and GPUs.
[[nodiscard]] std::map<std::string, std::string> seen_values(const Variables& environment);

// The variables by which NCCL, MPI, PyTorch, OpenMP and the like are set up, but not those that
// differ from process to process. A long value is replaced by its hash.
[[nodiscard]] std::map<std::string, std::string> library_settings(const Variables& environment);

}  // namespace muster::facts
