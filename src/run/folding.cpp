#include "run/folding.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/colour.hpp"
#include "base/output_line.hpp"
#include "hosts/fold.hpp"

namespace muster::run {
namespace {

constexpr std::size_t kMostLines = 20'000;
constexpr std::size_t kMostBytes = std::size_t{8} << 20;
constexpr std::uint64_t kNotShown = UINT64_MAX;  // in place of a line's number

std::string key_of(sys::Stream stream, std::string_view text) {
  return std::string(1, stream == sys::Stream::kOut ? 'o' : 'e').append(text);
}

}  // namespace

std::string label_of(const std::vector<Source>& sources) {
  if (sources.size() == 1) return fmt::format("[{}:{}]", sources[0].host, sources[0].rank);
  std::vector<std::string> hosts;
  std::vector<int> ranks;
  for (const Source& source : sources) {
    ranks.push_back(source.rank);
    if (hosts.empty() || hosts.back() != source.host) hosts.push_back(source.host);
  }
  return fmt::format("[{}:{}]", hosts::fold(hosts), ranks_text(ranks));
}

std::string painted_label(sys::Stream stream, const std::vector<Source>& sources, bool colours) {
  const Colour colour = stream == sys::Stream::kOut ? Colour::kCyan : Colour::kYellow;
  return painted(label_of(sources), colour, colours);
}

// The number of a waiting line with the same stream and text that comes after all lines of this
// rank.
std::optional<std::uint64_t> Folding::find(const std::string& key, int rank) const {
  const auto known = numbers_.find(key);
  if (known == numbers_.end()) return std::nullopt;
  const auto next = next_.find(rank);
  const std::uint64_t least = next == next_.end() ? first_ : std::max(first_, next->second);
  const auto& numbers = known->second;
  const auto found = std::lower_bound(numbers.begin(), numbers.end(), least);
  return found == numbers.end() ? std::nullopt : std::optional(*found);
}

void Folding::add(sys::Stream stream, const Source& from, std::string_view text, bool may_change,
                  Clock::time_point now) {
  const std::string key = key_of(stream, text);
  auto number = joins_ ? find(key, from.rank) : std::nullopt;
  if (!number) {
    number = first_ + waiting_.size();
    numbers_[key].push_back(*number);
    waiting_.push_back({.line = {.stream = stream, .text = std::string(text)}, .since = now});
    bytes_ += text.size();
  }
  Waiting& one = waiting_[*number - first_];
  one.line.from.push_back(from);
  one.may_change = one.may_change || may_change;
  one.joined = now;
  next_[from.rank] = *number + 1;
  remember_row(stream, from.rank, *number);
}

void Folding::remember_row(sys::Stream stream, int rank, std::uint64_t number) {
  auto& rows = rows_[{rank, stream}];
  rows.push_back(number);
  if (rows.size() > kMostRows) rows.pop_front();
}

void Folding::skip(sys::Stream stream, int rank) {
  remember_row(stream, rank, kNotShown);
}

void Folding::withdraw(sys::Stream stream, int rank, std::size_t rows) {
  const auto known = rows_.find({rank, stream});
  if (known == rows_.end()) return;
  for (auto& numbers = known->second; rows > 0 && !numbers.empty(); --rows) {
    const std::uint64_t number = numbers.back();
    numbers.pop_back();
    if (number == kNotShown || number < first_) continue;
    std::erase_if(waiting_[number - first_].line.from,
                  [rank](const Source& one) { return one.rank == rank; });
  }
}

bool Folding::is_full() const {
  return waiting_.size() > kMostLines || bytes_ > kMostBytes;
}

bool Folding::is_due(const Waiting& one, Clock::time_point now) const {
  if (one.line.from.empty() || is_full()) return true;
  const bool is_whole = !joins_ || one.line.from.size() >= ranks_;
  if (is_whole && !one.may_change) return true;
  return now - one.joined >= kQuiet || now - one.since >= kLongest;
}

Folding::Line Folding::take_first() {
  Line line = std::move(waiting_.front().line);
  waiting_.pop_front();
  bytes_ -= line.text.size();
  const auto known = numbers_.find(key_of(line.stream, line.text));
  known->second.pop_front();
  if (known->second.empty()) numbers_.erase(known);
  ++first_;
  std::sort(line.from.begin(), line.from.end());
  return line;
}

std::vector<Folding::Line> Folding::take_due(Clock::time_point now) {
  std::vector<Line> lines;
  while (!waiting_.empty() && is_due(waiting_.front(), now)) {
    Line line = take_first();
    if (!line.from.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<Folding::Line> Folding::take_all() {
  return take_due(Clock::time_point::max());
}

}  // namespace muster::run
