// Verdicts that accuse the ranks for which others wait.
#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/size_text.hpp"
#include "why/rules.hpp"
#include "why/words.hpp"

namespace muster::why {
namespace {

// seconds; before that, the engine may be about to end the others.
constexpr double kEndedFor = 2;
// Seconds between the ends of ranks that ended for the same reason.
constexpr double kTogether = 1;
constexpr double kLeavingFor = 5;  // seconds
constexpr double kLongWait = 10;   // seconds
constexpr double kInputFor = 5;    // seconds, if input is a pipe, which may still deliver something
constexpr double kSlowDisk = 120;  // seconds, since written data may take long to reach a disk
constexpr double kLoopFor = 120;
constexpr double kComputing = 0.1;  // share of a CPU
constexpr double kComputesFor = 600;
constexpr double kGapsOfComputing = 10;  // multiples of the longest earlier pause
constexpr std::size_t kMostOthers = 4;
constexpr double kSilentHostFor = 5;  // seconds, if connections confirm it

// Returns the ranks that others wait for, including those that have begun an operation but do
// something else, so that it cannot end.
Ranks suspects_of(const Case& the) {
  Ranks suspects = the.waits.culprits;
  const auto add = [&](const RankReading* rank) {
    if (std::find(suspects.begin(), suspects.end(), rank) == suspects.end())
      suspects.push_back(rank);
  };
  for (const Gathering& gathering : the.waits.gatherings) {
    if (!gathering.missing.empty()) continue;
    for (const RankReading* rank : gathering.begun_elsewhere) add(rank);
  }
  // A healthy rank is never stopped. So a stopped rank is suspicious even if no rank is known to
  // wait for it.
  for (const RankReading& rank : the.ranks) {
    if (rank.activity == Activity::kStopped) add(&rank);
  }
  return suspects;
}

// If different parts of the job wait for different ranks, the part that has waited long matters
// more.
bool matters_less(const Gathering& a, const Gathering& b) {
  const auto weight = [](const Gathering& gathering) {
    return std::tuple(gathering.age_s > kLongWait, gathering.waiting.size(), gathering.age_s);
  };
  return weight(a) < weight(b);
}

const Gathering* gathering_of(const Case& the, const Ranks& ranks) {
  const Gathering* most = nullptr;
  for (const RankReading* rank : ranks) {
    const Gathering* gathering = main_gathering(the.waits, *rank);
    if (gathering == nullptr) continue;
    if (most == nullptr || matters_less(*most, *gathering)) most = gathering;
  }
  if (most == nullptr && !the.waits.gatherings.empty()) return &the.waits.gatherings.front();
  return most;
}

// Returns those of `ranks` that are missing in the gathering, or all of `ranks` if none is missing
// there or the gathering is null.
Ranks missing_in(const Gathering* gathering, const Ranks& ranks) {
  if (gathering == nullptr) return ranks;
  Ranks missing;
  for (const RankReading* rank : ranks) {
    const auto& all = gathering->missing;
    if (std::find(all.begin(), all.end(), rank) != all.end()) missing.push_back(rank);
  }
  return missing.empty() ? ranks : missing;
}

bool has_failed(const RankReading& rank) {
  return rank.activity == Activity::kEnded && !rank.state->end.empty() &&
         rank.state->end != "exit code 0";
}

std::string end_text(const RankReading& rank) {
  std::string text = rank.state->end.empty() ? "" : fmt::format(" ({})", rank.state->end);
  if (rank.state->ended_ago_s > 0)
    text += fmt::format(" {} ago", seconds_text(rank.state->ended_ago_s));
  return text;
}

struct Wording {
  Kind kind;
  std::string text;  // to follow "rank 3 (n2)"
};

Wording wording_for(Activity activity, const Ranks& ranks, const Gathering* gathering) {
  const std::size_t n = ranks.size();
  const RankReading& first = *ranks.front();
  switch (activity) {
    case Activity::kStopped:
      return {Kind::kStopped, verb(n, "is stopped", "are stopped")};
    case Activity::kEnded:
      return {Kind::kEnded, std::string(verb(n, "has", "have")) + " ended" +
                                (n == 1 ? end_text(first) : std::string())};
    case Activity::kLeaving:
      return {Kind::kEnded, verb(n, "is leaving its program", "are leaving their program")};
    case Activity::kInput:
      return {Kind::kWaitsForInput, verb(n, "waits for input", "wait for input")};
    case Activity::kUninterruptible:
      return {Kind::kUninterruptible,
              std::string(verb(n, "is", "are")) + " blocked in a system call (state D)"};
    case Activity::kLock:
      return {Kind::kWaitsForLock,
              verb(n, "waits for a lock or another thread", "wait for a lock or another thread")};
    case Activity::kLoops:
      return {Kind::kLoops,
              fmt::format("{} in one place, {}: an endless loop, or a very long computation",
                          verb(n, "runs", "run"),
                          first.stack.place.empty() ? "unknown" : first.stack.place)};
    default:
      break;
  }
  const bool unnamed = gathering == nullptr || gathering->operation == kUnnamedOperation;
  const std::string what = unnamed ? "the collective of the others" : name_of(*gathering);
  const bool sure = gathering != nullptr && gathering->recorded;
  const bool message = gathering != nullptr && gathering->what == Gathering::What::kPointToPoint;
  if (message) {
    return {Kind::kNotEntered, fmt::format("neither {} nor {}", verb(n, "sends", "send"),
                                           verb(n, "receives", "receive"))};
  }
  return {Kind::kNotEntered,
          fmt::format("{} entered {}", sure ? "never" : verb(n, "has not", "have not"), what)};
}

bool at_terminal(const Ranks& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [](const RankReading* rank) {
    return rank->subject != nullptr &&
           (rank->subject->call.find("/dev/pts/") != std::string::npos ||
            rank->subject->call.find("/dev/tty") != std::string::npos);
  });
}

// Whether a rank that sleeps uninterruptibly may merely use a slow disk. A slow read delivers some
// bytes. But written data, or a page of a memory-mapped file, can be under way for a long time.
bool may_be_slow_disk(const RankReading& rank) {
  if (rank.io_bytes > 0) return true;
  const std::string call = rank.subject == nullptr ? std::string() : rank.subject->call;
  return call.empty() || call.starts_with("write of") || call.starts_with("close of") ||
         call.find("sync") != std::string::npos;
}

// Returns how many seconds others must have waited before the ranks are accused.
double limit_for(Activity activity, const Ranks& ranks, const Gathering& gathering,
                 const Patience& patience) {
  switch (activity) {
    case Activity::kStopped:
      return 0;
    case Activity::kEnded:
      return has_failed(*ranks.front()) ? std::min(kEndedFor, patience.limit_s) : patience.limit_s;
    case Activity::kInput:
      return at_terminal(ranks) ? 0 : kInputFor;
    case Activity::kUninterruptible:
      return std::any_of(ranks.begin(), ranks.end(),
                         [](const RankReading* rank) { return may_be_slow_disk(*rank); })
                 ? std::max(kSlowDisk, patience.limit_s)
                 : patience.limit_s;
    case Activity::kLoops:
      return std::max({kLoopFor, patience.limit_s, kGapsOfComputing * gathering.longest_gap_s});
    default:
      return patience.limit_s;
  }
}

Verdict not_yet(const Case& the, const Ranks& ranks, const Gathering& gathering) {
  Verdict verdict{.kind = Kind::kWaiting};
  verdict.headline = fmt::format("{} {} {}; {}; that may be normal", rank_names(ranks),
                                 verb(ranks.size(), "is", "are"), whereabouts(*ranks.front()),
                                 waits_clause(the, gathering, ranks.size()));
  return about(the, std::move(verdict), ranks);
}

Verdict works(const Case& the, const Ranks& ranks, const Gathering* gathering) {
  const RankReading& first = *ranks.front();
  const bool computes = first.cpu >= kComputing || first.io_bytes == 0;
  std::string how = computes ? percent_text(first.cpu) + " of a processor"
                             : size_text(first.io_bytes) + " read or written";
  const std::string place = place_of(first);
  if (!place.empty()) how += ", at " + place;
  Verdict verdict{.kind = Kind::kWorking};
  verdict.headline = fmt::format(
      "{} {} ({})", rank_names(ranks),
      computes ? verb(ranks.size(), "computes", "compute") : verb(ranks.size(), "works", "work"),
      how);
  if (gathering != nullptr) verdict.headline += "; " + waits_clause(the, *gathering, ranks.size());
  const bool in_place = std::any_of(ranks.begin(), ranks.end(), [](const RankReading* rank) {
    return rank->activity == Activity::kLoops;
  });
  verdict.headline +=
      in_place ? "; that is a long computation or an endless loop" : "; nothing looks stuck";
  return about(the, std::move(verdict), ranks);
}

// Like waits_clause, but names no operation, because the sentence before has just done so.
std::string waits_in_it(const Case& the, const Gathering& gathering) {
  const std::size_t n = gathering.waiting.size();
  const Patience patience = patience_of(the.scene, gathering);
  const std::string time = seconds_text(patience.waited_s);
  if (!patience.at_most) {
    return fmt::format("{} {} waited in it for {}", count_of_ranks(n), verb(n, "has", "have"),
                       time);
  }
  return fmt::format("{} {} in it, for at most {}", count_of_ranks(n), verb(n, "waits", "wait"),
                     time);
}

// Adds details about ranks that are missing in the same operation for another reason.
void add_others(const Case& the, const Ranks& accused, const Gathering& gathering,
                Verdict& verdict) {
  std::size_t shown = 0;
  for (const RankReading* rank : gathering.missing) {
    const auto& waiting = the.waits.waiting;
    if (std::find(accused.begin(), accused.end(), rank) != accused.end()) continue;
    if (std::find(waiting.begin(), waiting.end(), rank) != waiting.end()) continue;
    if (++shown > kMostOthers) return;
    verdict.details.push_back(
        fmt::format("{} is missing, too: {}", rank_names({rank}), whereabouts(*rank)));
  }
}

Verdict accuse(const Case& the, Activity activity, const Ranks& ranks, const Gathering* gathering) {
  Wording wording = wording_for(activity, ranks, gathering);
  Verdict verdict{.kind = wording.kind, .hang = true};
  verdict.headline = rank_names(ranks) + " " + wording.text;
  if (gathering != nullptr && !gathering->waiting.empty()) {
    verdict.headline += "; ";
    verdict.headline += wording.kind == Kind::kNotEntered
                            ? waits_in_it(the, *gathering)
                            : waits_clause(the, *gathering, ranks.size());
    add_others(the, ranks, *gathering, verdict);
  }
  return about(the, std::move(verdict), ranks);
}

Ranks with(const Ranks& suspects, Activity activity) {
  Ranks found;
  std::copy_if(suspects.begin(), suspects.end(), std::back_inserter(found),
               [&](const RankReading* rank) { return rank->activity == activity; });
  return found;
}

std::optional<Verdict> judge_silent_hosts(const Case& the) {
  Ranks silent;
  const auto& hosts = the.scene.silent_hosts;
  const auto& unclear = the.waits.unclear;
  std::copy_if(unclear.begin(), unclear.end(), std::back_inserter(silent), [&](const auto* rank) {
    return std::find(hosts.begin(), hosts.end(), rank->host) != hosts.end();
  });
  const Gathering* gathering = silent.empty() ? nullptr : gathering_of(the, silent);
  if (gathering == nullptr) return std::nullopt;
  const Patience patience = patience_of(the.scene, *gathering);
  const double limit = the.links.connections.empty() ? patience.limit_s : kSilentHostFor;
  if (patience.waited_s < limit || !patience.quiet) return not_yet(the, silent, *gathering);
  Verdict verdict{.kind = Kind::kHostSilent, .hang = true};
  verdict.hosts = hosts_of(silent);
  verdict.headline = fmt::format("{} {} not answer, so nothing is known of {}; {}",
                                 listed(verdict.hosts, 8), verb(verdict.hosts.size(), "does", "do"),
                                 rank_names(silent), waits_clause(the, *gathering, silent.size()));
  add_connections(the, verdict);
  return about(the, std::move(verdict), silent);
}

// Returns the rank that is the cause, with those that ended in the same way at the same time. The
// cause is the rank that failed first or, if none failed, the one that ended first.
Ranks first_to_end(const Ranks& ended) {
  const RankReading* first =
      *std::max_element(ended.begin(), ended.end(), [](const RankReading* a, const RankReading* b) {
        return std::pair(has_failed(*a), a->state->ended_ago_s) <
               std::pair(has_failed(*b), b->state->ended_ago_s);
      });
  Ranks together;
  std::copy_if(ended.begin(), ended.end(), std::back_inserter(together), [&](const auto* rank) {
    return rank->state->end == first->state->end &&
           first->state->ended_ago_s - rank->state->ended_ago_s <= kTogether;
  });
  return together;
}

std::optional<Verdict> judge_ended(const Case& the, const Ranks& suspects) {
  const Ranks ended = with(suspects, Activity::kEnded);
  if (ended.empty()) return std::nullopt;
  const Ranks ranks = first_to_end(ended);
  const Gathering* gathering = gathering_of(the, ranks);
  if (gathering == nullptr) return std::nullopt;
  // A rank that ended successfully may not belong to the operation's group. Only a recorder knows
  // which ranks do, except at the rendezvous, which needs all.
  const bool needs_all = gathering->recorded || gathering->what == Gathering::What::kRendezvous;
  if (!needs_all && !has_failed(*ranks.front())) return std::nullopt;
  Patience patience = patience_of(the.scene, *gathering);
  // Ranks normally end one after the other, so allow some time.
  if (gathering->what == Gathering::What::kTeardown && patience.waited_s < patience.limit_s) {
    return std::nullopt;
  }
  patience.waited_s = std::max(patience.waited_s, ranks.front()->state->ended_ago_s);
  if (patience.waited_s < std::min(kEndedFor, patience.limit_s)) return std::nullopt;
  return accuse(the, Activity::kEnded, ranks, gathering);
}

// If a recorder shows that a rank is missing in a collective, and the rank is leaving its program,
// it will never enter that collective.
std::optional<Verdict> judge_leaving(const Case& the, const Ranks& suspects) {
  const Ranks leaving = with(suspects, Activity::kLeaving);
  const Gathering* gathering = leaving.empty() ? nullptr : gathering_of(the, leaving);
  if (gathering == nullptr || !gathering->recorded ||
      gathering->what != Gathering::What::kCollective || gathering->age_s < kLeavingFor) {
    return std::nullopt;
  }
  return accuse(the, Activity::kLeaving, leaving, gathering);
}

std::optional<Verdict> judge_proven(const Case& the, const Ranks& suspects) {
  const Ranks stopped = with(suspects, Activity::kStopped);
  if (!stopped.empty()) {
    return accuse(the, Activity::kStopped, stopped, gathering_of(the, stopped));
  }
  if (auto verdict = judge_ended(the, suspects)) return verdict;
  if (auto verdict = judge_leaving(the, suspects)) return verdict;
  const Ranks ranks = with(suspects, Activity::kInput);
  const Gathering* gathering = ranks.empty() ? nullptr : gathering_of(the, ranks);
  if (gathering == nullptr) return std::nullopt;
  const Patience patience = patience_of(the.scene, *gathering);
  const double limit = limit_for(Activity::kInput, ranks, *gathering, patience);
  if (patience.waited_s < limit) return std::nullopt;
  return accuse(the, Activity::kInput, ranks, gathering);
}

bool all_still(const Ranks& ranks) {
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const RankReading* rank) { return rank->still || rank->main == nullptr; });
}

// A rank that computes for much longer than ever before deserves a look, whatever it computes.
std::optional<Verdict> judge_long_computation(const Case& the, const Ranks& working,
                                              const Gathering* gathering) {
  if (gathering == nullptr || !gathering->recorded) return std::nullopt;
  const double limit = std::max(kComputesFor, kGapsOfComputing * gathering->longest_gap_s);
  if (gathering->age_s < limit) return std::nullopt;
  Verdict verdict = works(the, working, gathering);
  verdict.kind = Kind::kLoops;
  verdict.hang = true;
  verdict.details.push_back(fmt::format("the longest pause between two collectives before was {}",
                                        seconds_text(gathering->longest_gap_s)));
  verdict.next = advice_for(Kind::kLoops);
  return verdict;
}

}  // namespace

std::optional<Verdict> judge_time_out(const Case& the) {
  Ranks impatient;
  for (const RankReading& rank : the.ranks) {
    if (rank.activity == Activity::kEnded && rank.state->timed_out) impatient.push_back(&rank);
  }
  if (impatient.empty()) return std::nullopt;
  double first_ago_s = 0;  // how long ago the first time-out happened
  for (const RankReading* rank : impatient) {
    first_ago_s = std::max(first_ago_s, rank->state->ended_ago_s);
  }
  Ranks suspects;
  for (const RankReading& rank : the.ranks) {
    const auto& waiting = the.waits.waiting;
    const bool waits = std::find(waiting.begin(), waiting.end(), &rank) != waiting.end();
    // Ranks that ended after the first time-out ended as a consequence.
    const bool ended_since =
        rank.activity == Activity::kEnded && rank.state->ended_ago_s <= first_ago_s;
    if (!waits && !gave_up(rank) && !ended_since) suspects.push_back(&rank);
  }
  if (suspects.empty()) return std::nullopt;
  const Activity activity = suspects.front()->activity;
  const bool alike = std::all_of(suspects.begin(), suspects.end(), [&](const RankReading* rank) {
    return rank->activity == activity;
  });
  Verdict verdict{.kind = Kind::kNotEntered, .hang = true};
  verdict.headline = rank_names(suspects) + " ";
  if (alike && activity != Activity::kWorks) {
    Wording wording = wording_for(activity, suspects, nullptr);
    verdict.kind = wording.kind;
    verdict.headline += wording.text;
  } else {
    verdict.headline += "did not come in time";
  }
  verdict.headline += fmt::format("; {} waited until {} timed out", rank_names(impatient),
                                  impatient.size() == 1 ? "it" : "they");
  return about(the, std::move(verdict), suspects);
}

std::optional<Verdict> judge_culprits(const Case& the, bool proven) {
  const Ranks suspects = suspects_of(the);
  if (suspects.empty()) return std::nullopt;
  if (proven) return judge_proven(the, suspects);
  Ranks working = with(suspects, Activity::kWorks);
  constexpr auto kOrder = std::to_array<Activity>(
      {Activity::kLeaving, Activity::kInput, Activity::kUninterruptible, Activity::kLock,
       Activity::kLoops, Activity::kIdle, Activity::kEnded, Activity::kNotStarted});
  for (const Activity activity : kOrder) {
    Ranks ranks = with(suspects, activity);
    const Gathering* gathering = ranks.empty() ? nullptr : gathering_of(the, ranks);
    if (gathering == nullptr) continue;
    ranks = missing_in(gathering, ranks);
    // The others may wait for the working rank in ways that muster does not see.
    if (!working.empty() && activity != Activity::kUninterruptible) break;
    const Patience patience = patience_of(the.scene, *gathering);
    const double limit = limit_for(activity, ranks, *gathering, patience);
    const bool quiet =
        patience.quiet && (gathering->recorded || activity == Activity::kLoops || all_still(ranks));
    if (patience.waited_s >= limit && quiet) return accuse(the, activity, ranks, gathering);
    if (activity == Activity::kLoops) {
      working.insert(working.end(), ranks.begin(), ranks.end());
    } else if (working.empty()) {
      return not_yet(the, ranks, *gathering);
    }
  }
  if (working.empty()) return std::nullopt;
  const Gathering* gathering = gathering_of(the, working);
  if (auto verdict = judge_long_computation(the, working, gathering)) return verdict;
  return works(the, working, gathering);
}

std::optional<Verdict> judge_unclear(const Case& the) {
  if (auto verdict = judge_silent_hosts(the)) return verdict;
  const Ranks& ranks = the.waits.unclear;
  const Gathering* gathering = nullptr;
  for (const Gathering& one : the.waits.gatherings) {
    if (gathering == nullptr && !one.unclear.empty()) gathering = &one;
  }
  if (gathering == nullptr || ranks.empty()) return std::nullopt;
  const Patience patience = patience_of(the.scene, *gathering);
  if (patience.waited_s < patience.limit_s || !patience.quiet || !all_still(ranks)) {
    return not_yet(the, ranks, *gathering);
  }
  Verdict verdict{.kind = Kind::kNotEntered, .hang = true};
  verdict.headline = fmt::format("{} may or may not be in {}: too little could be seen of {}; {}",
                                 rank_names(ranks), name_of(*gathering),
                                 ranks.size() == 1 ? "it" : "them", waits_in_it(the, *gathering));
  return about(the, std::move(verdict), ranks);
}

}  // namespace muster::why
