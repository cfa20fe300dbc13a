// Turns error messages into the form in which muster-bench prints them.
#pragma once

#include <string>

namespace muster::programs::bench {

// Removes the backtrace that PyTorch adds, and joins lines with "; ": "what; what to do".
[[nodiscard]] std::string one_line(const std::string& message);

}  // namespace muster::programs::bench
