// The last lines that a failed run prints below the verdict: the cause, or the last output. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "explain/explanation.hpp"
#include "run/record.hpp"

namespace muster::cli {

struct ExplainedRun {
  explain::Explanation explanation;
  std::string left_out = {};  // describes what was not read; empty if all was read
};

// `explained` is empty if muster did not look for a cause, or could not. `most` limits the number
// of lines.
[[nodiscard]] std::vector<std::string> ending_lines(const run::Verdict& verdict,
                                                    const std::string& run_id,
                                                    const std::optional<ExplainedRun>& explained,
                                                    std::size_t most);

}  // namespace muster::cli
