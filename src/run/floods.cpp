#include "run/floods.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/output_line.hpp"
#include "base/size_text.hpp"
#include "hosts/fold.hpp"

namespace muster::run {
namespace {

constexpr double kFloodShare = 0.5;
// At the end of a run, ranks are named that waited for at least this long and this share.
constexpr double kLongWaitSeconds = 5;
constexpr double kLongWaitShare = 0.1;

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

// Returns "rank 3 on n1" or "64 ranks (0-63) on n[1-8]".
std::string ranks_on(std::vector<std::pair<int, std::string>> ranks) {
  if (ranks.size() == 1) return fmt::format("rank {} on {}", ranks[0].first, ranks[0].second);
  std::sort(ranks.begin(), ranks.end());
  std::vector<int> numbers;
  std::vector<std::string> names;
  std::set<std::string_view> known;
  for (const auto& [rank, host] : ranks) {
    numbers.push_back(rank);
    if (known.insert(host).second) names.push_back(host);
  }
  return fmt::format("{} ranks ({}) on {}", numbers.size(), ranks_text(numbers),
                     hosts::fold(names));
}

std::string size_of(double bytes) {
  constexpr double kMost = 1e18;  // a host may report anything
  return file_size_text(static_cast<std::uint64_t>(std::clamp(bytes, 0.0, kMost)));
}

}  // namespace

void Floods::take(const std::string& host, int rank, double waited_s, std::uint64_t bytes,
                  Clock::time_point now) {
  Rank& known = ranks_[rank];
  if (known.is_found) return;
  const double of_s = seconds(now - known.since);
  const double waited = waited_s - known.waited_s;
  const bool continues = known.host == host && waited >= 0 && bytes >= known.bytes;
  if (continues && now - known.since < kLookAt) return;
  if (continues && waited >= kFloodShare * of_s) {
    if (found_.empty()) found_at_ = now;
    found_.push_back({.rank = rank,
                      .host = host,
                      .waited_s = std::min(waited, of_s),
                      .of_s = of_s,
                      .bytes_per_s = static_cast<double>(bytes - known.bytes) / of_s});
    known.is_found = true;
    return;
  }
  known = {.host = host, .since = now, .waited_s = waited_s, .bytes = bytes};
}

std::string Floods::news(Clock::time_point now) {
  if (found_.empty() || now - found_at_ < kTogether) return {};
  const std::vector<Flood> found = std::exchange(found_, {});
  const Flood& longest = *std::max_element(
      found.begin(), found.end(),
      [](const Flood& one, const Flood& other) { return one.waited_s < other.waited_s; });
  std::vector<std::pair<int, std::string>> ranks;
  double rate = 0;
  for (const Flood& one : found) {
    ranks.emplace_back(one.rank, one.host);
    rate += one.bytes_per_s;
  }
  const bool is_one = found.size() == 1;
  return fmt::format(
      "{} {} faster than muster can pass the output on ({}/s{}), and had to wait for {}{:.0f} s of "
      "the last {:.0f} s; print less, or write to a file",
      ranks_on(ranks), is_one ? "prints" : "print", size_of(rate), is_one ? "" : " in all",
      is_one ? "" : "up to ", longest.waited_s, longest.of_s);
}

std::string waits_text(const Record& record) {
  std::vector<std::pair<int, std::string>> ranks;
  double longest_s = 0;
  double bytes = 0;
  // No rank lived longer than the run, whatever a host's clock says.
  const double run_s = record.ended_s > 0 ? record.ended_s - record.started_s
                                          : std::numeric_limits<double>::infinity();
  for (const RankRecord& rank : record.ranks) {
    if (!rank.end || !rank.start) continue;
    const double lived_s = std::min(rank.end->time_s - rank.start->time_s, run_s);
    const double waited_s = std::min(rank.end->waited_s, lived_s);
    if (waited_s < std::max(kLongWaitSeconds, kLongWaitShare * lived_s)) continue;
    ranks.emplace_back(rank.rank, rank.host);
    longest_s = std::max(longest_s, waited_s);
    bytes += static_cast<double>(rank.end->out_bytes) + static_cast<double>(rank.end->err_bytes);
  }
  if (ranks.empty()) return {};
  return fmt::format("{} printed {} and had to wait for {}{:.0f} s until muster had passed it on",
                     ranks_on(ranks), size_of(bytes), ranks.size() == 1 ? "" : "up to ", longest_s);
}

}  // namespace muster::run
