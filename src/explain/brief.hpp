// The short form of an explanation, which `muster run` prints below its verdict. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "explain/explanation.hpp"

namespace muster::explain {

// Whether the cause is certain enough to be shown instead of the rank's last lines.
[[nodiscard]] bool is_confident(const Explanation& explanation);

// Describes the root cause in at most `most` lines of at most `width` bytes. Does not repeat the
// verdict.
[[nodiscard]] std::vector<std::string> brief_lines(const Explanation& explanation, std::size_t most,
                                                   std::size_t width);

}  // namespace muster::explain
