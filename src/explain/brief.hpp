// The short form of an explanation, which `muster run` prints below its verdict. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "explain/explanation.hpp"

namespace muster::explain {

// Whether a cause is sure enough to be shown instead of the last lines of the rank.
[[nodiscard]] bool is_confident(const Explanation& explanation);

// The root cause in at most `most` lines of at most `width` bytes. Does not repeat the verdict.
[[nodiscard]] std::vector<std::string> brief_lines(const Explanation& explanation, std::size_t most,
                                                   std::size_t width);

}  // namespace muster::explain
