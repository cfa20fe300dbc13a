#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "why/rules.hpp"
#include "why/words.hpp"

namespace muster::why {
namespace {

constexpr double kPatience = 30;  // seconds, at least
// In seconds, for ranks that poll: these look the same whether or not they advance. The shorter
// limit holds if two stacks show each of them in the same call.
constexpr double kPollingPatience = 60;
constexpr double kLongPollingPatience = 300;
constexpr double kGaps = 3;  // multiples of the longest earlier pause
constexpr std::size_t kMostPlaceLines = 6;
constexpr std::size_t kMostSignals = 4;
constexpr std::size_t kMostSignalHosts = 6;  // hosts named in one line
constexpr std::size_t kMostConnections = 4;
constexpr double kOverload = 1.5;  // runnable processes per CPU

// Returns "all_reduce #1841 was the last collective of rank 3, begun 94 s ago"; "" if the rank has
// a pending one or none at all.
std::string last_operation(const RankReading& rank) {
  if (rank.view == nullptr) return {};
  const inspect::Operation* last = nullptr;
  std::string group_name;
  for (const inspect::Group& group : rank.view->groups) {
    for (const inspect::Operation& operation : group.operations) {
      if (!operation.done) return {};  // the text about waiting ranks names this one
      if (last != nullptr && operation.age_s > last->age_s) continue;
      last = &operation;
      group_name = is_default(group) ? "" : " of group " + group.name;
    }
  }
  if (last == nullptr) return {};
  return fmt::format("{} was the last collective of rank {}, begun {} ago",
                     fmt::format("{} #{}{}", last->name, last->number, group_name), rank.rank,
                     seconds_text(last->age_s));
}

// Adds signs of trouble from all hosts, such as full disks. Those of the accused ranks' hosts come
// first.
void add_signals(const Case& the, const std::vector<std::string>& accused, Verdict& verdict) {
  std::map<std::string, std::vector<std::string>> hosts;  // by the text about them
  for (const auto& [host, lines] : the.scene.kernel_logs) {
    for (const std::string& line : lines) hosts["the kernel says: " + line].push_back(host);
  }
  for (const auto& [host, view] : the.scene.hosts) {
    for (const std::string& disk : view.full_disks) hosts["full: " + disk].push_back(host);
    for (const inspect::Counter& c : view.counters) {
      if (c.change <= 0) continue;
      hosts[fmt::format("{} of {} grew by {}", c.name, c.device, c.change)].push_back(host);
    }
    if (view.processors > 0 && view.load > kOverload * view.processors) {
      hosts[fmt::format("{:.0f} processes want to run on {} processors", view.load,
                        view.processors)]
          .push_back(host);
    }
  }
  for (const std::string& host : the.scene.silent_hosts) {
    hosts["did not answer the inspection"].push_back(host);
  }
  std::vector<std::string> signals;
  std::size_t of_accused = 0;
  for (const auto& [what, who] : hosts) {
    const bool first =
        std::find_first_of(who.begin(), who.end(), accused.begin(), accused.end()) != who.end();
    const auto place = signals.begin() + static_cast<std::ptrdiff_t>(of_accused);
    signals.insert(first ? place : signals.end(),
                   fmt::format("{}: {}", listed(who, kMostSignalHosts), what));
    if (first) ++of_accused;
  }
  const std::size_t shown = std::min(signals.size(), kMostSignals);
  verdict.details.insert(verdict.details.end(), signals.begin(),
                         signals.begin() + static_cast<std::ptrdiff_t>(shown));
}

bool is_told_by(const std::string& headline, const std::string& whereabouts,
                const RankReading& rank) {
  const std::string place = place_of(rank);
  return headline.find(whereabouts) != std::string::npos ||
         (!place.empty() && headline.find(place) != std::string::npos);
}

}  // namespace

Patience patience_of(const Scene& scene, const Gathering& gathering) {
  Patience patience;
  patience.limit_s = std::max(kPatience, kGaps * gathering.longest_gap_s);
  if (gathering.recorded) {
    patience.waited_s = gathering.age_s;
    patience.quiet = true;
    return patience;
  }
  patience.at_most = true;
  patience.waited_s = std::max(scene.silent_s, 0.0);
  if (scene.started_ago_s > 0) patience.waited_s = std::min(patience.waited_s, scene.started_ago_s);
  patience.quiet = true;
  for (const RankReading* rank : gathering.waiting) {
    if (rank->stack.spins) {
      patience.limit_s =
          std::max(patience.limit_s, rank->stays ? kPollingPatience : kLongPollingPatience);
      patience.quiet = patience.quiet && (rank->stays || rank->view->first_frames.empty());
    } else if (!rank->still) {
      patience.quiet = false;
    }
  }
  return patience;
}

std::string waits_clause(const Case& the, const Gathering& gathering, std::size_t culprits) {
  const Patience patience = patience_of(the.scene, gathering);
  const std::size_t count = gathering.waiting.size();
  const char* it = culprits == 1 ? "it" : "them";
  std::string text;
  if (!patience.at_most) {
    text = fmt::format("{} {} waited for {} in {} for {}", count_of_ranks(count),
                       verb(count, "has", "have"), it, name_of(gathering),
                       seconds_text(patience.waited_s));
  } else {
    text = fmt::format("{} {} for {} in {}", count_of_ranks(count), verb(count, "waits", "wait"),
                       it, name_of(gathering));
    if (patience.waited_s > 0) text += ", for at most " + seconds_text(patience.waited_s);
  }
  if (the.waits.waiting.size() > count) {
    const std::size_t more = the.waits.waiting.size() - count;
    text += fmt::format(" ({} more {} elsewhere)", more, verb(more, "waits", "wait"));
  }
  return text;
}

Verdict about(const Case& the, Verdict verdict, const Ranks& ranks) {
  verdict.ranks = numbers_of(ranks);
  if (verdict.hosts.empty()) verdict.hosts = hosts_of(ranks);
  std::vector<std::pair<std::string, Ranks>> places;
  std::map<std::string, std::size_t> index;
  for (const RankReading* rank : ranks) {
    std::string place = whereabouts(*rank);
    const auto [found, is_new] = index.try_emplace(place, places.size());
    if (is_new) places.emplace_back(std::move(place), Ranks());
    places[found->second].second.push_back(rank);
  }
  for (std::size_t i = 0; i < std::min(places.size(), kMostPlaceLines); ++i) {
    const auto& [place, who] = places[i];
    if (is_told_by(verdict.headline, place, *who.front())) continue;
    verdict.details.push_back(
        fmt::format("{} {} {}", rank_names(who), verb(who.size(), "is", "are"), place));
  }
  if (places.size() > kMostPlaceLines) {
    verdict.details.push_back(
        fmt::format("and ranks at {} more places", places.size() - kMostPlaceLines));
  }
  if (ranks.size() == 1) {
    std::string last = last_operation(*ranks.front());
    if (!last.empty()) verdict.details.push_back(std::move(last));
  }
  add_signals(the, verdict.hosts, verdict);
  if (verdict.next.empty()) verdict.next = advice_for(verdict.kind);
  return verdict;
}

void add_connections(const Case& the, Verdict& verdict) {
  const auto& bad = the.links.connections;
  for (std::size_t i = 0; i < std::min(bad.size(), kMostConnections); ++i) {
    verdict.details.push_back(connection_text(bad[i]));
  }
  if (bad.size() > kMostConnections) {
    verdict.details.push_back(
        fmt::format("and {} more connections like these", bad.size() - kMostConnections));
  }
}

std::string advice_for(Kind kind) {
  switch (kind) {
    case Kind::kProgress:
      return "for where the time goes: muster why --slow";
    case Kind::kWorking:
    case Kind::kWaiting:
      return "wait, and ask again later";
    case Kind::kUnknown:
      return "look at the stacks below";
    case Kind::kNotEntered:
    case Kind::kLoops:
      return "look at the code at this place, or end the run";
    case Kind::kDifferentCollectives:
      return "every rank must call the same collectives in the same order: look for a condition "
             "that differs between ranks";
    case Kind::kDifferentSizes:
      return "every rank must pass tensors of the same size and type: look for a last batch that "
             "is "
             "smaller";
    case Kind::kStopped:
      return "continue it with kill -CONT, or end the run";
    case Kind::kUninterruptible:
      return "look at what it waits for, such as a disk or a file server; such a process ends only "
             "when its call returns";
    case Kind::kWaitsForLock:
      return "find who holds the lock, or end the run";
    case Kind::kWaitsForInput:
      return "ranks have no terminal: remove input() or the debugger, or run it interactively on "
             "one host";
    case Kind::kEnded:
      return "see the last output of this rank, and end the run";
    case Kind::kNoTransportProgress:
      return "test the network between these hosts: muster check, muster bench";
    case Kind::kRendezvousIncomplete:
      return "see what the missing ranks do, and test the network with muster check";
    case Kind::kEverybodyWaits:
      return "call sends, receives and collectives of several groups in the same order on all "
             "ranks";
    case Kind::kHostSilent:
      return "test whether the host is up: muster check";
    case Kind::kStraggler:
      return "look at what this rank does between collectives";
    case Kind::kSlowLink:
      return "measure it: muster bench";
    case Kind::kBalanced:
      return {};
  }
  return {};
}

Verdict judge(const Scene& scene) {
  const Case the(scene);
  if (the.ranks.empty()) {
    return {.kind = Kind::kUnknown, .headline = "nothing is known of the ranks of this job"};
  }
  if (auto verdict = judge_time_out(the)) return *verdict;
  if (auto verdict = judge_progress(the)) return *verdict;
  if (auto verdict = judge_culprits(the, true)) return *verdict;
  if (auto verdict = judge_mismatch(the)) return *verdict;
  if (auto verdict = judge_rendezvous(the)) return *verdict;
  if (auto verdict = judge_transport(the)) return *verdict;
  if (auto verdict = judge_culprits(the, false)) return *verdict;
  if (auto verdict = judge_unclear(the)) return *verdict;
  if (auto verdict = judge_circle(the)) return *verdict;
  if (auto verdict = judge_stuck(the)) return *verdict;
  return judge_quiet(the);
}

}  // namespace muster::why
