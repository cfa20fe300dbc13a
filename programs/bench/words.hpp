// Messages as muster-bench prints them.
#pragma once

#include <string>

namespace muster::programs::bench {

// Without the stack that PyTorch adds, and with "; " where a line ended: "what; what to do".
[[nodiscard]] std::string one_line(const std::string& message);

}  // namespace muster::programs::bench
