#include "cli/meant.hpp"

#include <algorithm>
#include <vector>

#include "hosts/nearest.hpp"

namespace muster::cli {
namespace {

std::string_view without_dashes(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

}  // namespace

std::string meant(std::string_view typed, std::span<const std::string> known) {
  constexpr std::size_t kMostMistakes = 3;
  typed = without_dashes(typed);
  if (typed.size() < 2) return {};
  std::vector<std::string_view> candidates;
  for (const std::string& word : known) {
    if (without_dashes(word).size() > 1) candidates.push_back(without_dashes(word));
  }
  const std::size_t most = std::clamp<std::size_t>(typed.size() / 3, 1, kMostMistakes);
  std::string_view found = hosts::nearest(typed, candidates, most);
  if (found.empty() && typed.size() > 2) {
    for (const std::string_view word : candidates) {
      const bool shorter = found.empty() || word.size() < found.size();
      if (word.starts_with(typed) && shorter) found = word;
    }
  }
  const auto whole = std::find_if(known.begin(), known.end(), [&](const std::string& word) {
    return !found.empty() && without_dashes(word) == found;
  });
  return whole == known.end() ? std::string() : *whole;
}

}  // namespace muster::cli
