#include "hosts/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace muster::hosts {
namespace {

// Longer words count as similar to nothing, which limits the cost.
constexpr std::size_t kLongestWord = 64;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;  // row of a[i - 2], needed for swapped characters
  std::vector<std::size_t> above(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::move(above);
    above = std::move(row);
  }
  return above.back();
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates,
                         std::size_t most) {
  std::string_view best;
  if (word.size() > kLongestWord) return best;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > most || (distance == most && !best.empty())) continue;
    best = candidate;
    most = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view best =
      nearest(word, candidates, std::max<std::size_t>(word.size() / 2, 2));
  if (!best.empty()) return fmt::format("did you mean '{}'?", best);
  return fmt::format("known are: {}", fmt::join(candidates, ", "));
}

}  // namespace muster::hosts
