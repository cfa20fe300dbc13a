// Verdicts on jobs whose ranks have not met yet, and on those in which nobody waits.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "why/rules.hpp"
#include "why/words.hpp"

namespace muster::why {
namespace {

constexpr double kStartPatience = 60;    // seconds: importing PyTorch takes long on slow disks
constexpr double kUnansweredFor = 3;     // attempts to connect
constexpr double kAllAlikeFor = 60;      // when all ranks do the same and none is known to wait
constexpr std::size_t kMostMissing = 6;  // each with a line about its connection

std::string master_of(const Scene& scene) {
  if (scene.master_address.empty() || scene.master_port <= 0) return {};
  return fmt::format("{}:{}", scene.master_address, scene.master_port);
}

bool is_connected(const Scene& scene, const RankReading& rank) {
  if (rank.view == nullptr) return false;
  return std::any_of(rank.view->connections.begin(), rank.view->connections.end(),
                     [&](const inspect::Connection& c) {
                       return c.state == "established" && (c.peer_port == scene.master_port ||
                                                           c.local_port == scene.master_port);
                     });
}

// Only where it is sure: other ranks have such a connection, or this one tries in vain.
void add_master_connections(const Case& the, const Ranks& ranks, Verdict& verdict) {
  const std::string master = master_of(the.scene);
  if (master.empty()) return;
  std::set<int> trying;
  for (const BadConnection& bad : the.links.connections) {
    if (!bad.to_master) continue;
    trying.insert(bad.rank->rank);
    if (trying.size() > kMostMissing) break;
    verdict.details.push_back(fmt::format(
        "rank {} tries to connect to {} and gets no answer (SYN sent {} times): a firewall drops "
        "it, or the address is wrong",
        bad.rank->rank, master, bad.connection->retransmits + 1));
  }
  Ranks apart;
  for (const RankReading* rank : ranks) {
    if (rank->view == nullptr || trying.contains(rank->rank)) continue;
    if (!is_connected(the.scene, *rank)) apart.push_back(rank);
  }
  if (apart.empty() || apart.size() > ranks.size()) return;
  verdict.details.push_back(fmt::format("{} {} no connection to {}", rank_names(apart),
                                        verb(apart.size(), "has", "have"), master));
}

double started_for(const Scene& scene) {
  if (scene.started_ago_s <= 0) return std::max(scene.silent_s, 0.0);
  return scene.silent_s > 0 ? std::min(scene.silent_s, scene.started_ago_s) : scene.started_ago_s;
}

bool anybody_has_groups(const Case& the) {
  return std::any_of(the.ranks.begin(), the.ranks.end(), [](const RankReading& rank) {
    return rank.view != nullptr && !rank.view->groups.empty();
  });
}

Ranks ranks_with(const Case& the, Activity activity) {
  Ranks found;
  for (const RankReading& rank : the.ranks) {
    if (rank.activity == activity) found.push_back(&rank);
  }
  return found;
}

Verdict incomplete(const Case& the, const Ranks& missing, std::size_t reached) {
  Verdict verdict{.kind = Kind::kRendezvousIncomplete, .hang = true};
  verdict.headline = fmt::format("{} of {} ranks {} reached the rendezvous; {} {} not", reached,
                                 the.ranks.size(), verb(reached, "has", "have"),
                                 rank_names(missing), verb(missing.size(), "has", "have"));
  const std::string first = whereabouts(*missing.front());
  const bool same = std::all_of(missing.begin(), missing.end(), [&](const RankReading* rank) {
    return whereabouts(*rank) == first;
  });
  if (same)
    verdict.headline += fmt::format(": {} {}", missing.size() == 1 ? "it is" : "they are", first);
  add_master_connections(the, missing, verdict);
  return about(the, std::move(verdict), missing);
}

// Ranks that try to reach the master and get no answer.
std::optional<Verdict> judge_unanswered(const Case& the) {
  Ranks trying;
  for (const BadConnection& bad : the.links.connections) {
    const bool is_new = std::find(trying.begin(), trying.end(), bad.rank) == trying.end();
    if (bad.to_master && bad.connection->state == "syn-sent" && is_new) trying.push_back(bad.rank);
  }
  if (trying.empty() || started_for(the.scene) < kUnansweredFor) return std::nullopt;
  const std::size_t others = the.ranks.size() - trying.size();
  Verdict verdict{.kind = Kind::kRendezvousIncomplete, .hang = true};
  verdict.headline = fmt::format(
      "{} {} not reach the rendezvous at {}: the connection gets no answer; {} {} for {}",
      rank_names(trying), verb(trying.size(), "does", "do"), master_of(the.scene),
      count_of_ranks(others), verb(others, "waits", "wait"), trying.size() == 1 ? "it" : "them");
  add_master_connections(the, trying, verdict);
  return about(the, std::move(verdict), trying);
}

Verdict waits_for_start(const Case& the, const Ranks& missing, std::size_t reached, double waited) {
  Verdict verdict{.kind = Kind::kWaiting};
  verdict.headline =
      fmt::format("{} of {} ranks {} reached the rendezvous, for at most {}; that may be normal",
                  reached, the.ranks.size(), verb(reached, "has", "have"), seconds_text(waited));
  return about(the, std::move(verdict), missing);
}

// All are there, and the rendezvous does not end.
Verdict judge_full_rendezvous(const Case& the, const Gathering& gathering) {
  const Patience patience = patience_of(the.scene, gathering);
  const std::size_t reached = gathering.waiting.size();
  if (patience.waited_s < patience.limit_s || !patience.quiet) {
    return waits_for_start(the, {}, reached, patience.waited_s);
  }
  Ranks apart;
  const bool known = !master_of(the.scene).empty();
  for (const RankReading* rank : gathering.waiting) {
    if (known && !is_connected(the.scene, *rank)) apart.push_back(rank);
  }
  if (!apart.empty() && apart.size() < reached)
    return incomplete(the, apart, reached - apart.size());
  Verdict verdict{.kind = Kind::kRendezvousIncomplete, .hang = true};
  verdict.headline = fmt::format(
      "{} in the rendezvous and wait for more, for at most {}: is the world size larger than {}, "
      "or "
      "do they meet at different addresses?",
      reached == 1 ? "the only rank is" : fmt::format("all {} ranks are", reached),
      seconds_text(patience.waited_s), the.ranks.size());
  return about(the, std::move(verdict), gathering.waiting);
}

std::optional<Verdict> judge_not_started(const Case& the) {
  const Ranks missing = ranks_with(the, Activity::kNotStarted);
  if (missing.empty() || anybody_has_groups(the)) return std::nullopt;
  const double waited = std::max(the.scene.started_ago_s, 0.0);
  Verdict verdict{.kind = Kind::kWaiting};
  verdict.hang = waited >= kStartPatience;
  if (verdict.hang) verdict.kind = Kind::kRendezvousIncomplete;
  verdict.headline =
      fmt::format("{} {} not started, {} after the launch",
                  missing.size() == the.ranks.size() ? "all ranks" : rank_names(missing),
                  verb(missing.size() == the.ranks.size() ? 2 : missing.size(), "has", "have"),
                  seconds_text(waited));
  if (missing.size() == the.ranks.size()) {
    verdict.headline =
        fmt::format("no rank has started, {} after the launch", seconds_text(waited));
  }
  return about(the, std::move(verdict), missing);
}

// Without any known operation only what all ranks have in common tells something.
std::optional<Verdict> judge_alike(const Case& the, Activity activity, Kind kind, const char* what,
                                   double limit) {
  const Ranks ranks = ranks_with(the, activity);
  if (ranks.empty() || the.scene.silent_s < limit) return std::nullopt;
  Verdict verdict{.kind = kind, .hang = true};
  verdict.headline = fmt::format("{} {}, and nothing has been printed for {}", rank_names(ranks),
                                 what, seconds_text(the.scene.silent_s));
  return about(the, std::move(verdict), ranks);
}

bool all_are(const Case& the, Activity activity) {
  return std::all_of(the.ranks.begin(), the.ranks.end(), [&](const RankReading& rank) {
    return (rank.activity == activity && rank.still) || rank.activity == Activity::kEnded;
  });
}

}  // namespace

std::optional<Verdict> judge_rendezvous(const Case& the) {
  if (!anybody_has_groups(the)) {
    if (auto verdict = judge_unanswered(the)) return verdict;
  }
  const auto found =
      std::find_if(the.waits.gatherings.begin(), the.waits.gatherings.end(),
                   [](const Gathering& g) { return g.what == Gathering::What::kRendezvous; });
  if (found == the.waits.gatherings.end()) return std::nullopt;
  // Ranks that have met and left this one behind say so in their own collectives.
  if (the.waits.gatherings.front().what == Gathering::What::kCollective) return std::nullopt;
  if (found->missing.empty()) return judge_full_rendezvous(the, *found);
  Ranks missing;
  for (const RankReading* rank : found->missing) {
    const Activity does = rank->activity;
    if (does == Activity::kWorks || does == Activity::kLoops || does == Activity::kLock ||
        does == Activity::kUninterruptible || does == Activity::kEnded) {
      return std::nullopt;  // judge_culprits has better words
    }
    missing.push_back(rank);
  }
  const std::size_t reached = the.ranks.size() - missing.size();
  const Patience patience = patience_of(the.scene, *found);
  if (patience.waited_s >= patience.limit_s && patience.quiet) {
    return incomplete(the, missing, reached);
  }
  return waits_for_start(the, missing, reached, patience.waited_s);
}

Verdict judge_quiet(const Case& the) {
  if (auto verdict = judge_not_started(the)) return *verdict;
  const auto inputs = judge_alike(the, Activity::kInput, Kind::kWaitsForInput, "wait for input", 5);
  if (inputs && ranks_with(the, Activity::kWorks).empty()) return *inputs;
  if (all_are(the, Activity::kLock)) {
    if (auto verdict = judge_alike(the, Activity::kLock, Kind::kWaitsForLock, "wait for locks",
                                   kAllAlikeFor)) {
      return *verdict;
    }
  }
  if (all_are(the, Activity::kUninterruptible)) {
    if (auto verdict = judge_alike(the, Activity::kUninterruptible, Kind::kUninterruptible,
                                   "hang in the kernel (state D)", kAllAlikeFor)) {
      return *verdict;
    }
  }
  const std::size_t working =
      ranks_with(the, Activity::kWorks).size() + ranks_with(the, Activity::kLoops).size();
  const std::size_t ended = ranks_with(the, Activity::kEnded).size();
  Verdict verdict;
  Ranks ranks;
  for (const RankReading& rank : the.ranks) ranks.push_back(&rank);
  if (ended == ranks.size()) {
    verdict.headline = "all ranks have ended";
  } else if (working > 0) {
    verdict.kind = Kind::kWorking;
    verdict.headline = fmt::format("{} {}, and no rank is known to wait. Nothing looks stuck",
                                   count_of_ranks(working), verb(working, "works", "work"));
  } else {
    verdict.headline = "no rank is known to wait for another, and none computes";
  }
  verdict = about(the, std::move(verdict), ranks);
  verdict.ranks.clear();
  verdict.hosts.clear();
  return verdict;
}

}  // namespace muster::why
