// Guesses which known word a mistyped one was meant to be.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace muster::hosts {

// Returns the most similar candidate that differs from `word` by at most `most` typing mistakes (a
// letter added, left out or replaced, or two neighbours swapped). Empty if there is none.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates,
                                       std::size_t most);

// Returns "did you mean 'hostfile'?" for the most similar candidate, or "known are: ..." if none is
// similar.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> candidates);
[[nodiscard]] inline std::string did_you_mean(std::string_view word,
                                              std::initializer_list<std::string_view> candidates) {
  return did_you_mean(word, std::span(candidates.begin(), candidates.size()));
}

}  // namespace muster::hosts
