#include "explain/parting_words.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "explain/ascii.hpp"

namespace muster::explain {
namespace {

constexpr std::size_t kMostRanks = 65536;
constexpr std::size_t kMostHosts = 4096;
constexpr std::size_t kLongestWords = 400;

// Whether the line may say why a rank ended. False for rulers, lines of Open MPI's crash report
// ("./heat(+0x2dcc)[0x563229468dcc]", "[n2:73] *** End of error message ***"), continuations of
// other lines, Python warnings and progress bars.
bool says_something(std::string_view text) {
  if (text.starts_with("  what():")) return true;  // of a C++ exception
  constexpr std::array kNothing = {
      "[0x",       "(+0x", "] *** ", "] Signal code: ", "] Failing at address: ",
      "Warning: ", "%|",   "it/s"};
  return std::any_of(text.begin(), text.end(), is_letter) && text.front() != ' ' &&
         text.front() != '\t' &&
         std::none_of(kNothing.begin(), kNothing.end(),
                      [&](const char* sign) { return text.find(sign) != std::string_view::npos; });
}

}  // namespace

PartingWordsOfRanks::Seen* PartingWordsOfRanks::seen_of(const Origin& origin) {
  if (origin.rank < 0) {
    const bool is_full = of_nobody_.size() >= kMostHosts && !of_nobody_.contains(origin.host);
    return is_full ? nullptr : &of_nobody_[origin.host];
  }
  const bool is_full = of_ranks_.size() >= kMostRanks && !of_ranks_.contains(origin.rank);
  return is_full ? nullptr : &of_ranks_[origin.rank];
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
    seen->last.origin = origin;
    seen->last.text = text.substr(text.find_first_not_of(' '), kLongestWords);
    seen->last.order = order;
    return;
  }
  seen->last.text.clear();
  seen->is_explained = true;
}

void PartingWordsOfRanks::take_abort(const Origin& origin, int rank) {
  const int whose = rank >= 0 ? rank : origin.rank;
  if (const auto found = of_ranks_.find(whose); found != of_ranks_.end()) {
    found->second.last.before_abort = true;
    found->second.is_over = true;
    return;
  }
  // From here on, lines without a rank's label are the engine's report, so ignore them.
  Seen* const seen = seen_of({.host = origin.host});
  if (seen == nullptr || std::exchange(seen->is_over, true) || seen->last.text.empty()) return;
  seen->last.before_abort = true;
  seen->last.is_labelled = false;
  seen->last.origin.rank = rank;
}

void PartingWordsOfRanks::end_file() {
  for (auto& [rank, seen] : of_ranks_) seen.is_over = true;
  // Lines without a label may be from any rank. Keep only those after which a rank called
  // MPI_Abort.
  for (auto& [host, seen] : of_nobody_) {
    if (seen.last.before_abort) before_aborts_.push_back(std::move(seen.last));
  }
  of_nobody_.clear();
}

std::vector<PartingWords> PartingWordsOfRanks::finish() {
  end_file();
  std::vector<PartingWords> words = std::move(before_aborts_);
  for (auto& [rank, seen] : of_ranks_) {
    if (!seen.is_explained && !seen.last.text.empty()) words.push_back(std::move(seen.last));
  }
  before_aborts_.clear();
  of_ranks_.clear();
  std::sort(words.begin(), words.end(),
            [](const auto& a, const auto& b) { return a.order < b.order; });
  return words;
}

}  // namespace muster::explain
