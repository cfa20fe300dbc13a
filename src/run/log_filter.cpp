#include "run/log_filter.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <regex.h>

#include "base/output_line.hpp"

namespace muster::run {
namespace {

constexpr int kHighestRank = 100'000'000;
constexpr std::size_t kMostRanks = 1'000'000;

std::optional<int> rank_number(std::string_view text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == end;
  return whole && number >= 0 && number <= kHighestRank ? std::optional(number) : std::nullopt;
}

Error not_ranks(std::string_view text) {
  return {.code = ErrorCode::kUsage,
          .what = fmt::format("'{}' is not a list of ranks", text),
          .hint = "write a rank (3), a range (0-7) or several of them (0,4-7)"};
}

}  // namespace

struct Pattern::Compiled {
  regex_t expression = {};
  bool good = false;

  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (good) ::regfree(&expression);
  }
};

Result<Pattern> Pattern::compile(const std::string& text) {
  auto compiled = std::make_shared<Compiled>();
  const int wrong = ::regcomp(&compiled->expression, text.c_str(), REG_EXTENDED | REG_NOSUB);
  compiled->good = wrong == 0;
  if (wrong != 0) {
    std::string why(256, '\0');
    why.resize(::regerror(wrong, &compiled->expression, why.data(), why.size()) - 1);
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("'{}' is not a regular expression: {}", text, why),
                            .hint = R"(to search for a character such as ( or *, write \( or \*)"});
  }
  Pattern pattern;
  pattern.compiled_ = std::move(compiled);
  return pattern;
}

bool Pattern::is_in(std::string_view line) const {
  regmatch_t part{.rm_so = 0, .rm_eo = static_cast<regoff_t>(line.size())};
  return ::regexec(&compiled_->expression, line.data(), 1, &part, REG_STARTEND) == 0;
}

Result<std::set<int>> parse_ranks(std::string_view text) {
  std::set<int> ranks;
  for (std::string_view rest = text; !rest.empty() || ranks.empty();) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    const std::size_t dash = item.find('-');
    const auto first = rank_number(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : rank_number(item.substr(dash + 1));
    if (!first || !last || *last < *first) return unexpected(not_ranks(text));
    if (ranks.size() + static_cast<std::size_t>(*last - *first) >= kMostRanks) {
      return unexpected(not_ranks(text));
    }
    for (int rank = *first; rank <= *last; ++rank) ranks.insert(rank);
  }
  return ranks;
}

LabelledLine split_label(std::string_view line) {
  const auto label = take_label(line);
  const auto rank = label ? rank_number(label->ranks) : std::nullopt;
  if (!rank) return {.text = line};
  return {.host = label->hosts, .rank = *rank, .text = label->text};
}

LogFilter::LogFilter(LogWish wish)
    : wish_(std::move(wish)),
      takes_all_(wish_.ranks.empty() && wish_.hosts.empty() && !wish_.pattern && wish_.labels) {}

std::string LogFilter::take(sys::Stream stream, std::string_view bytes) {
  if (wish_.stream && *wish_.stream != stream) return {};
  if (takes_all_) return std::string(bytes);
  std::string wanted;
  unfinished_[stream].take(bytes, [&](std::string_view line) { wanted += shown(line); });
  return wanted;
}

std::string LogFilter::rest() {
  std::string wanted;
  for (auto& [stream, buffer] : unfinished_) wanted += shown(buffer.take_rest());
  return wanted;
}

std::string LogFilter::shown(std::string_view line) const {
  const LabelledLine parts = split_label(line);
  if (line.empty() || !is_wanted(parts)) return {};
  return std::string(wish_.labels ? line : parts.text);
}

bool LogFilter::is_wanted(const LabelledLine& line) const {
  if (!wish_.ranks.empty() && !wish_.ranks.contains(line.rank)) return false;
  if (!wish_.hosts.empty() && !wish_.hosts.contains(std::string(line.host))) return false;
  std::string_view text = line.text;
  if (text.ends_with('\n')) text.remove_suffix(1);
  return !wish_.pattern || wish_.pattern->is_in(text);
}

}  // namespace muster::run
