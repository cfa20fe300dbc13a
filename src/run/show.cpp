#include "run/show.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "base/printable.hpp"

namespace muster::run {
namespace {

std::optional<int> parse_rank(std::string_view text) {
  int rank = -1;
  const auto [stop, bad] = std::from_chars(text.data(), text.data() + text.size(), rank);
  const bool is_whole = bad == std::errc() && stop == text.data() + text.size();
  return is_whole && rank >= 0 ? std::optional(rank) : std::nullopt;
}

// Reads a list such as "0,8". Returns nothing if the text is not a list of ranks.
std::optional<std::set<int>> parse_ranks(std::string_view text) {
  std::set<int> ranks;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto rank = parse_rank(text.substr(begin, end - begin));
    if (!rank) return std::nullopt;
    ranks.insert(*rank);
    begin = end + 1;
  }
  return ranks;
}

}  // namespace

Result<Show> parse_show(const std::string& text) {
  if (text == "folded") return Show{.fold = Show::Fold::kAlways};
  if (text == "all") return Show{.fold = Show::Fold::kNever};
  if (text == "first-per-host") return Show{.first_per_host = true};
  auto ranks = parse_ranks(text);
  if (ranks) return Show{.ranks = std::move(ranks)};
  return unexpected(
      Error{.code = ErrorCode::kUsage,
            .what = fmt::format(
                "--show: '{}' is neither folded, all, first-per-host nor ranks such as 0 or 0,8",
                printable(text))});
}

}  // namespace muster::run
