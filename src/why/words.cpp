#include "why/words.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/output_line.hpp"

namespace muster::why {
namespace {

constexpr std::size_t kMostHosts = 4;

// What to write after "is": "in a read of /data/x", "sleeping".
std::string call_words(const std::string& call) {
  if (call == "sleep") return "sleeping";
  if (call.starts_with("wait for ")) return "waiting for " + call.substr(9);
  if (call.starts_with("read of ") || call.starts_with("write of ") ||
      call.starts_with("stat of ")) {
    return "in a " + call;
  }
  if (call.starts_with("lock of ")) return "waiting for the " + call;
  if (call.starts_with("open of ")) return "in an " + call;
  return "waiting in " + call;
}

std::string process_words(const RankReading& rank) {
  const inspect::Process& process = *rank.subject;
  const bool main = rank.subject == rank.main;
  std::string words;
  if (!main) {
    return fmt::format("waiting for its process {} ({}), which is {}(state {})", process.pid,
                       process.command.empty() ? "?" : process.command,
                       process.call.empty() ? "" : call_words(process.call) + " ", process.state);
  }
  const bool is_stopped = process.state == "T" || process.state == "t";
  if (!process.call.empty() && !is_stopped) words = call_words(process.call);
  if (process.state == "D" || is_stopped) {
    const std::string state =
        fmt::format("state {}{}", process.state,
                    process.waits_in.empty() ? "" : ", in the kernel's " + process.waits_in);
    words += words.empty() ? "in " + state : " (" + state + ")";
  }
  return words;
}

}  // namespace

std::string seconds_text(double seconds) {
  if (!(seconds > 0)) return "0 s";
  if (seconds < 9.95) return fmt::format("{:.2g} s", seconds);
  if (seconds < 300) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 1e9) return fmt::format("{:.1f} h", seconds / 3600);
  return "years";
}

std::string percent_text(double share) {
  return fmt::format("{:.0f} %", 100 * std::clamp(share, 0.0, 1e6));
}

std::string count_of_ranks(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "rank" : "ranks");
}

const char* verb(std::size_t count, const char* one, const char* many) {
  return count == 1 ? one : many;
}

std::vector<int> numbers_of(const std::vector<const RankReading*>& ranks) {
  std::vector<int> numbers;
  for (const RankReading* rank : ranks) numbers.push_back(rank->rank);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<std::string> hosts_of(const std::vector<const RankReading*>& ranks) {
  std::vector<std::string> hosts;
  for (const RankReading* rank : ranks) {
    if (rank->host.empty()) continue;
    if (std::find(hosts.begin(), hosts.end(), rank->host) == hosts.end()) {
      hosts.push_back(rank->host);
    }
  }
  return hosts;
}

std::string rank_names(const std::vector<const RankReading*>& ranks) {
  const std::vector<std::string> hosts = hosts_of(ranks);
  std::string text =
      fmt::format("{} {}", verb(ranks.size(), "rank", "ranks"), ranks_text(numbers_of(ranks)));
  if (hosts.empty()) return text;
  if (hosts.size() > kMostHosts) return text + fmt::format(" ({} hosts)", hosts.size());
  return text + fmt::format(" ({})", fmt::join(hosts, ", "));
}

std::string place_of(const RankReading& rank) {
  if (!rank.stack.place.empty() || rank.view == nullptr || rank.view->places.empty()) {
    return rank.stack.place;
  }
  return rank.view->places.back() + "()";
}

std::string whereabouts(const RankReading& rank) {
  switch (rank.activity) {
    case Activity::kNotStarted:
      return "not started";
    case Activity::kUnseen:
      return "not visible to muster";
    case Activity::kEnded: {
      std::string text = "no longer running";
      if (!rank.state->end.empty()) text += fmt::format(" ({})", rank.state->end);
      return text;
    }
    default:
      break;
  }
  std::vector<std::string> parts;
  const std::string place = place_of(rank);
  if (!place.empty()) parts.push_back("at " + place);
  if (rank.subject != nullptr || rank.main != nullptr) {
    RankReading of = rank;
    if (of.subject == nullptr) of.subject = of.main;
    std::string words = process_words(of);
    if (!words.empty()) parts.push_back(std::move(words));
  }
  if (rank.cpu >= 0.1)
    parts.push_back(fmt::format("using {} of a processor", percent_text(rank.cpu)));
  if (parts.empty())
    return fmt::format("in state {}", rank.main == nullptr ? "?" : rank.main->state);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string listed(const std::vector<std::string>& items, std::size_t most) {
  const std::size_t shown = std::min(items.size(), most);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == items.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + items[i];
  }
  if (items.size() > shown) text += fmt::format(" and {} more", items.size() - shown);
  return text;
}

}  // namespace muster::why
