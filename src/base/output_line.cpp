#include "base/output_line.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace muster {
namespace {

constexpr std::size_t kLongestLabel = 4096;  // enough, because lists of hosts are folded

// Where the bracket at the start of `line` is closed. Folded host names contain brackets too.
std::size_t closing_bracket(std::string_view line) {
  int depth = 0;
  for (std::size_t at = 0; at < std::min(line.size(), kLongestLabel); ++at) {
    if (line[at] == '[') ++depth;
    if (line[at] == ']' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] <= ranks[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ranks[first]);
    if (ranks[last] > ranks[first]) text += fmt::format("-{}", ranks[last]);
    first = last + 1;
  }
  return text;
}

std::optional<LabelledText> take_label(std::string_view line) {
  const std::size_t end = line.starts_with('[') ? closing_bracket(line) : std::string_view::npos;
  if (end == std::string_view::npos || !line.substr(end).starts_with("] ")) return std::nullopt;
  const std::string_view label = line.substr(1, end - 1);
  const std::size_t colon = label.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return LabelledText{.hosts = label.substr(0, colon),
                      .ranks = label.substr(colon + 1),
                      .text = line.substr(end + 2)};
}

std::string_view last_drawn(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  while (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t start = line.rfind('\r');
  return start == std::string_view::npos ? line : line.substr(start + 1);
}

}  // namespace muster
