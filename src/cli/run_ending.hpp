// The last lines of a run that failed, below the verdict: its cause, or what its last words were.
// Pure.
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
  std::string left_out = {};  // what was not read, in words; empty: everything was read
};

// `explained`: nothing if nobody looked for a cause. `most`: lines.
[[nodiscard]] std::vector<std::string> ending_lines(const run::Verdict& verdict,
                                                    const std::string& run_id,
                                                    const std::optional<ExplainedRun>& explained,
                                                    std::size_t most);

}  // namespace muster::cli
