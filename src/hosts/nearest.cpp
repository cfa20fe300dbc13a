#include "hosts/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace muster::hosts {
namespace {

constexpr std::size_t kLongestWord = 64;  // beyond it nothing is near, and the cost is bounded

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view word,
                         std::initializer_list<std::string_view> candidates) {
  std::string_view best;
  std::size_t distance = word.size() > kLongestWord ? 0 : std::max<std::size_t>(word.size() / 2, 2);
  for (const std::string_view candidate : candidates) {
    if (word.size() > kLongestWord) break;
    const std::size_t d = edit_distance(word, candidate);
    if (d <= distance && (best.empty() || d < distance)) {
      best = candidate;
      distance = d;
    }
  }
  if (!best.empty()) return fmt::format("did you mean '{}'?", best);
  return fmt::format("known are: {}", fmt::join(candidates, ", "));
}

}  // namespace muster::hosts
