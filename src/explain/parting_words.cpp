#include "explain/parting_words.hpp"

#include <algorithm>
#include <utility>

#include "explain/ascii.hpp"

namespace muster::explain {
namespace {

constexpr std::size_t kMostOrigins = 4096;
constexpr std::size_t kLongestWords = 400;

// Rulers, and frames of a native stack: "./heat(+0x2dcc)[0x563229468dcc]".
bool says_something(std::string_view text) {
  const bool has_letters = std::any_of(text.begin(), text.end(), is_letter);
  return has_letters && text.find("[0x") == std::string_view::npos &&
         text.find("(+0x") == std::string_view::npos;
}

}  // namespace

PartingWordsOfRanks::Seen* PartingWordsOfRanks::seen_of(const Origin& origin) {
  const auto found = seen_.find(origin);
  if (found != seen_.end()) return &found->second;
  return seen_.size() < kMostOrigins ? &seen_[origin] : nullptr;
}

void PartingWordsOfRanks::take(const Origin& origin, std::string_view text, Meaning meaning,
                               const Place& place, std::uint64_t order) {
  if (meaning == Meaning::kHarmless || (meaning == Meaning::kUnknown && !says_something(text))) {
    return;
  }
  Seen* const seen = seen_of(origin);
  if (seen == nullptr || seen->is_over) return;
  if (meaning == Meaning::kUnknown) {
    seen->last.place = place;
    seen->last.text = text.substr(0, kLongestWords);
    seen->last.order = order;
    return;
  }
  seen->last.text.clear();
  seen->is_explained = true;
}

void PartingWordsOfRanks::take_abort(const Origin& origin, int rank) {
  const auto of_rank = std::find_if(seen_.begin(), seen_.end(), [rank](const auto& one) {
    return rank >= 0 && one.first.rank == rank;
  });
  const auto found = of_rank != seen_.end() ? of_rank : seen_.find(origin);
  if (found == seen_.end() || found->second.last.text.empty()) return;
  Seen& seen = found->second;
  const bool is_labelled = found->first.rank >= 0;
  if (is_labelled && seen.is_explained) return;
  seen.last.before_abort = true;
  seen.is_explained = false;
  seen.is_over = true;
  seen.last.origin = found->first;
  seen.last.is_labelled = is_labelled;
  if (!is_labelled) seen.last.origin.rank = rank;
}

void PartingWordsOfRanks::end_file() {
  for (auto one = seen_.begin(); one != seen_.end();) {
    auto& [origin, seen] = *one;
    if (origin.rank >= 0) {
      seen.last.origin = origin;
      seen.is_over = true;
      ++one;
      continue;
    }
    // Anybody may have printed these lines: only an abort says that they are somebody's last.
    if (seen.last.before_abort) of_nobody_.push_back(std::move(seen.last));
    one = seen_.erase(one);
  }
}

std::vector<PartingWords> PartingWordsOfRanks::finish() {
  end_file();
  std::vector<PartingWords> words = std::move(of_nobody_);
  for (auto& [origin, seen] : seen_) {
    if (!seen.is_explained && !seen.last.text.empty()) words.push_back(std::move(seen.last));
  }
  seen_.clear();
  of_nobody_.clear();
  std::sort(words.begin(), words.end(),
            [](const auto& a, const auto& b) { return a.order < b.order; });
  return words;
}

}  // namespace muster::explain
