// What somebody who mistyped may have meant.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace muster::hosts {

// The candidate that is at most `most` typing mistakes away from `word` (letters added, left out,
// replaced, or two neighbours swapped), the nearest of them; empty: none is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates,
                                       std::size_t most);

// "did you mean 'hostfile'?" for the nearest candidate, or where none is near "known are: ...".
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> candidates);
[[nodiscard]] inline std::string did_you_mean(std::string_view word,
                                              std::initializer_list<std::string_view> candidates) {
  return did_you_mean(word, std::span(candidates.begin(), candidates.size()));
}

}  // namespace muster::hosts
