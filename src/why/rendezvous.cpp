// Verdicts on jobs whose ranks have not met yet, or in which no rank waits.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "inspect/connections.hpp"
#include "why/numbers.hpp"
#include "why/rules.hpp"
#include "why/words.hpp"

namespace muster::why {
namespace {

constexpr double kStartPatience = 60;    // seconds: importing PyTorch takes long on slow disks
constexpr double kUnansweredFor = 3;     // seconds, for attempts to connect
constexpr double kSilentForInput = 5;    // seconds, if no rank is known to wait for another
constexpr double kAllAlikeFor = 60;      // seconds, if ranks wait for locks or are in state D
constexpr std::size_t kMostMissing = 6;  // each gets a line about its connection

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

bool are_connections_known(const RankReading& rank) {
  if (rank.main == nullptr || rank.host_view == nullptr) return false;
  if (rank.view->connections.size() >= inspect::kMostConnections) return false;
  const auto& not_seen = rank.host_view->not_seen;
  return std::none_of(not_seen.begin(), not_seen.end(),
                      [](const std::string& what) { return what.starts_with("no connections"); });
}

// Returns those of `ranks` that certainly have no connection to the master while others do. If no
// rank has one, returns none, because the ranks may meet in another way, as MPI's do.
Ranks without_master(const Case& the, const Ranks& ranks) {
  if (master_of(the.scene).empty()) return {};
  const bool is_used =
      std::any_of(the.ranks.begin(), the.ranks.end(),
                  [&](const RankReading& rank) { return is_connected(the.scene, rank); });
  Ranks apart;
  for (const RankReading* rank : ranks) {
    if (!is_used || !are_connections_known(*rank)) continue;
    if (!is_connected(the.scene, *rank)) apart.push_back(rank);
  }
  return apart;
}

void add_master_connections(const Case& the, const Ranks& ranks, Verdict& verdict) {
  const std::string master = master_of(the.scene);
  if (master.empty()) return;
  std::set<int> trying;
  for (const BadConnection& bad : the.links.connections) {
    if (!bad.to_master || !trying.insert(bad.rank->rank).second) continue;
    if (trying.size() > kMostMissing) break;
    verdict.details.push_back(fmt::format(
        "rank {} tries to connect to {} and gets no answer (SYN sent {} times): a firewall drops "
        "it, or the address is wrong",
        bad.rank->rank, master, times_sent(*bad.connection)));
  }
  Ranks apart = without_master(the, ranks);
  std::erase_if(apart, [&](const RankReading* rank) { return trying.contains(rank->rank); });
  if (apart.empty()) return;
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

// For ranks that try to reach the master and get no answer.
std::optional<Verdict> judge_unanswered(const Case& the) {
  Ranks trying;
  for (const BadConnection& bad : the.links.connections) {
    const bool is_new = std::find(trying.begin(), trying.end(), bad.rank) == trying.end();
    if (bad.to_master && bad.connection->state == "syn-sent" && is_new) trying.push_back(bad.rank);
  }
  if (trying.empty() || started_for(the.scene) < kUnansweredFor) return std::nullopt;
  const auto others = static_cast<std::size_t>(std::count_if(
      the.waits.waiting.begin(), the.waits.waiting.end(), [&](const RankReading* rank) {
        return std::find(trying.begin(), trying.end(), rank) == trying.end();
      }));
  Verdict verdict{.kind = Kind::kRendezvousIncomplete, .hang = true};
  verdict.headline =
      fmt::format("{} {} not reach the rendezvous at {}: the connection gets no answer",
                  rank_names(trying), verb(trying.size(), "does", "do"), master_of(the.scene));
  if (others > 0) {
    verdict.headline +=
        fmt::format("; {} {} for {}", count_of_ranks(others), verb(others, "waits", "wait"),
                    verb(trying.size(), "it", "them"));
  }
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

bool is_over_patience(const Patience& patience) {
  return patience.waited_s >= std::max(patience.limit_s, kStartPatience) && patience.quiet;
}

// For a rendezvous that does not end although all ranks have arrived.
std::optional<Verdict> judge_full_rendezvous(const Case& the, const Gathering& gathering) {
  if (!the.links.connections.empty()) return std::nullopt;  // judge_transport names them
  const Patience patience = patience_of(the.scene, gathering);
  const std::size_t reached = gathering.waiting.size();
  if (!is_over_patience(patience)) return waits_for_start(the, {}, reached, patience.waited_s);
  const Ranks apart = without_master(the, gathering.waiting);
  if (!apart.empty() && apart.size() < reached)
    return incomplete(the, apart, reached - apart.size());
  Verdict verdict{.kind = Kind::kRendezvousIncomplete, .hang = true};
  verdict.headline = fmt::format(
      "{} for more, for at most {}: is the world size larger than {}, or do they meet at "
      "different addresses?",
      reached == 1 ? "the only rank is in the rendezvous and waits"
                   : fmt::format("all {} ranks are in the rendezvous and wait", reached),
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
  const std::string who = missing.size() == the.ranks.size()
                              ? "no rank has started"
                              : fmt::format("{} {} not started", rank_names(missing),
                                            verb(missing.size(), "has", "have"));
  verdict.headline = fmt::format("{}, {} after the launch", who, seconds_text(waited));
  return about(the, std::move(verdict), missing);
}

struct Predicate {
  const char* of_one;  // such as "waits for input"
  const char* of_many;
};
constexpr Predicate kWaitForInput{"waits for input", "wait for input"};
constexpr Predicate kWaitForLocks{"waits for a lock", "wait for locks"};
constexpr Predicate kHangInKernel{"hangs in the kernel (state D)", "hang in the kernel (state D)"};

// The verdict on ranks of which no operation is known. The only clue is something that they all
// have been doing for a long time.
Verdict all_alike(const Case& the, const Ranks& ranks, Kind kind, Predicate predicate) {
  Verdict verdict{.kind = kind, .hang = true};
  verdict.headline = fmt::format("{} {}, and nothing has been printed for {}", rank_names(ranks),
                                 verb(ranks.size(), predicate.of_one, predicate.of_many),
                                 seconds_text(the.scene.silent_s));
  return about(the, std::move(verdict), ranks);
}

// Returns the ranks that are still in this activity, if it can be recognised without a stack.
Ranks stuck_by_themselves(const Case& the, Activity activity) {
  Ranks found = ranks_with(the, activity);
  std::erase_if(found, [](const RankReading* rank) {
    const bool locks_file = rank->subject != nullptr && rank->subject->call.starts_with("lock of");
    return !rank->still || rank->io_bytes > 0 || (rank->activity == Activity::kLock && !locks_file);
  });
  return found;
}

bool all_are(const Case& the, Activity activity) {
  return std::all_of(the.ranks.begin(), the.ranks.end(), [&](const RankReading& rank) {
    return (rank.activity == activity && rank.still) || rank.activity == Activity::kEnded;
  });
}

bool has_stacks(const RankReading* rank) {
  return rank->view != nullptr &&
         std::any_of(rank->view->stacks.begin(), rank->view->stacks.end(),
                     [](const inspect::Stack& stack) { return !stack.frames.empty(); });
}

// Whether neither a stack nor a recorder shows if the rank waits for others.
bool is_blind(const RankReading& rank) {
  if (rank.main == nullptr || rank.view->recorded || !rank.view->groups.empty()) return false;
  return !has_stacks(&rank);
}

Ranks blind_ranks(const Case& the) {
  Ranks blind;
  for (const RankReading& rank : the.ranks) {
    if (is_blind(rank)) blind.push_back(&rank);
  }
  return blind;
}

// Whether the rank was seen to compute or loop outside of operations with other ranks.
bool is_seen_to_compute(const RankReading& rank) {
  const bool computes = rank.activity == Activity::kWorks || rank.activity == Activity::kLoops;
  return computes && rank.stack.in == StackReading::In::kElsewhere;
}

std::optional<Verdict> judge_lone(const Case& the) {
  if (the.scene.silent_s < kAllAlikeFor) return std::nullopt;
  constexpr std::pair<Activity, Kind> kKinds[] = {
      {Activity::kLock, Kind::kWaitsForLock}, {Activity::kUninterruptible, Kind::kUninterruptible}};
  for (const auto& [activity, kind] : kKinds) {
    const Ranks ranks =
        all_are(the, activity) ? ranks_with(the, activity) : stuck_by_themselves(the, activity);
    if (ranks.empty()) continue;
    Verdict verdict =
        all_alike(the, ranks, kind, activity == Activity::kLock ? kWaitForLocks : kHangInKernel);
    // It is not a hang if other ranks still compute: they need not be waiting for these.
    verdict.hang = std::none_of(the.ranks.begin(), the.ranks.end(), is_seen_to_compute);
    return verdict;
  }
  return std::nullopt;
}

// For example "no native stack: ptrace is not permitted". Each reason once.
std::vector<std::string> reasons_of(const Ranks& blind) {
  std::vector<std::string> reasons;
  for (const RankReading* rank : blind) {
    for (const std::string& reason : rank->view->not_seen) {
      if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
        reasons.push_back(reason);
    }
  }
  return reasons;
}

std::string advice_for_blind(const std::vector<std::string>& reasons) {
  const auto names = [&](const char* what) {
    return std::any_of(reasons.begin(), reasons.end(), [&](const std::string& reason) {
      return reason.find(what) != std::string::npos;
    });
  };
  std::vector<std::string> steps;
  if (names("eu-stack (package elfutils) is not installed"))
    steps.emplace_back("install elfutils on the hosts");
  if (names("py-spy is not installed")) steps.emplace_back("install py-spy on the hosts");
  if (names("ptrace")) {
    steps.emplace_back(
        "let muster read stacks: sysctl kernel.yama.ptrace_scope=0 on the hosts, or --cap-add "
        "SYS_PTRACE for a container");
  }
  return steps.empty() ? "wait, and ask again later" : listed(steps, steps.size());
}

Verdict judge_blind(const Case& the, const Ranks& blind, std::size_t working) {
  const bool all = blind.size() == the.ranks.size();
  Verdict verdict;
  verdict.headline = fmt::format(
      "{} {}, but muster could not read {} stacks{}, so it cannot tell whether ranks wait for each "
      "other",
      working > 0 ? count_of_ranks(working) : "no rank",
      working == 0 ? "computes" : verb(working, "computes or polls", "compute or poll"),
      all ? verb(blind.size(), "its", "their") : "the", all ? "" : " of " + rank_names(blind));
  const std::vector<std::string> reasons = reasons_of(blind);
  constexpr std::size_t kMostReasons = 4;
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i)
    verdict.details.push_back(reasons[i]);
  verdict.next = advice_for_blind(reasons);
  return verdict;
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
  // If most ranks are in a collective, their rendezvous is over, and the others are late for
  // something else. Other rules judge that.
  if (the.waits.gatherings.front().what == Gathering::What::kCollective) return std::nullopt;
  if (found->missing.empty()) return judge_full_rendezvous(the, *found);
  const Ranks& missing = found->missing;
  const auto any_is = [&](std::initializer_list<Activity> activities) {
    return std::any_of(missing.begin(), missing.end(), [&](const RankReading* rank) {
      return std::find(activities.begin(), activities.end(), rank->activity) != activities.end();
    });
  };
  if (any_is({Activity::kEnded})) return std::nullopt;  // judge_culprits has a better text
  const Patience patience = patience_of(the.scene, *found);
  const std::size_t reached = the.ranks.size() - missing.size();
  const bool all_work = std::all_of(missing.begin(), missing.end(), [](const RankReading* rank) {
    return rank->activity == Activity::kWorks;
  });
  // Be patient even with ranks that seem to hang in a read: on a slow file system, importing
  // PyTorch is a series of long reads.
  if (!all_work && !is_over_patience(patience))
    return waits_for_start(the, missing, reached, patience.waited_s);
  if (any_is({Activity::kWorks, Activity::kLoops, Activity::kLock, Activity::kUninterruptible}))
    return std::nullopt;  // judge_culprits has a better text
  return incomplete(the, missing, reached);
}

Verdict judge_quiet(const Case& the) {
  if (auto verdict = judge_not_started(the)) return *verdict;
  const Ranks inputs = ranks_with(the, Activity::kInput);
  if (!inputs.empty() && the.scene.silent_s >= kSilentForInput &&
      ranks_with(the, Activity::kWorks).empty()) {
    return all_alike(the, inputs, Kind::kWaitsForInput, kWaitForInput);
  }
  if (auto verdict = judge_lone(the)) return *verdict;
  const std::size_t working =
      ranks_with(the, Activity::kWorks).size() + ranks_with(the, Activity::kLoops).size();
  const std::size_t ended = ranks_with(the, Activity::kEnded).size();
  const Ranks blind = blind_ranks(the);
  Verdict verdict;
  Ranks ranks;
  for (const RankReading& rank : the.ranks) ranks.push_back(&rank);
  if (ended == ranks.size()) {
    verdict.headline = "all ranks have ended";
    verdict.next = "see the last output of the ranks";
  } else if (!blind.empty()) {
    verdict = judge_blind(the, blind, working);
  } else if (working > 0) {
    verdict.kind = Kind::kWorking;
    verdict.headline = fmt::format("{} {}, and no rank is known to wait. Nothing looks stuck",
                                   count_of_ranks(working), verb(working, "works", "work"));
  } else {
    verdict.headline = "no rank is known to wait for another, and none computes";
  }
  const bool any_stacks = std::any_of(ranks.begin(), ranks.end(), has_stacks);
  if (verdict.kind == Kind::kUnknown && verdict.next.empty() && !any_stacks)
    verdict.next = "see below what could not be seen, and ask again later";
  verdict = about(the, std::move(verdict), ranks);
  verdict.ranks.clear();
  verdict.hosts.clear();
  return verdict;
}

}  // namespace muster::why
