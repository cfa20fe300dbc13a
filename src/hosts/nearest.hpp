// What somebody who mistyped may have meant.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace muster::hosts {

// "did you mean 'hostfile'?" for the candidate with the smallest edit distance, or where none is
// near "known are: ...".
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::initializer_list<std::string_view> candidates);

}  // namespace muster::hosts
