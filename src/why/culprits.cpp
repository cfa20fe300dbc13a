// Verdicts on ranks that others wait for.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "why/rules.hpp"
#include "why/words.hpp"

namespace muster::why {
namespace {

constexpr double kEndedFor = 2;       // seconds: the engine may be about to end the others
constexpr double kInputFor = 5;       // of a pipe, which may still bring something
constexpr double kDiskFor = 10;       // in state D
constexpr double kSilentHostFor = 5;  // with connections that confirm it

// Of all that are waited for, or keep an operation from its end that they have begun.
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
  // No healthy rank is stopped, whether or not others are known to wait for it.
  for (const RankReading& rank : the.ranks) {
    if (rank.activity == Activity::kStopped) add(&rank);
  }
  return suspects;
}

const Gathering* gathering_of(const Case& the, const Ranks& ranks) {
  const Gathering* most = nullptr;
  for (const RankReading* rank : ranks) {
    const Gathering* gathering = main_gathering(the.waits, *rank);
    if (gathering == nullptr) continue;
    if (most == nullptr || gathering->waiting.size() > most->waiting.size()) most = gathering;
  }
  if (most == nullptr && !the.waits.gatherings.empty()) return &the.waits.gatherings.front();
  return most;
}

std::string end_text(const RankReading& rank) {
  std::string text = rank.state->end.empty() ? "" : fmt::format(" ({})", rank.state->end);
  if (rank.state->ended_ago_s > 0)
    text += fmt::format(" {} ago", seconds_text(rank.state->ended_ago_s));
  return text;
}

struct Wording {
  Kind kind;
  std::string text;  // follows "rank 3 (n2)"
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
    case Activity::kInput:
      return {Kind::kWaitsForInput, verb(n, "waits for input", "wait for input")};
    case Activity::kUninterruptible:
      return {Kind::kUninterruptible,
              std::string(verb(n, "hangs", "hang")) +
                  " in a call of the kernel that does not return (state D)"};
    case Activity::kLock:
      return {Kind::kWaitsForLock, verb(n, "waits for a lock", "wait for a lock")};
    case Activity::kLoops:
      return {Kind::kLoops,
              fmt::format("{} in one place, {}: an endless loop, or a computation that takes much "
                          "longer than any before",
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
    return {Kind::kNotEntered, fmt::format("{} no part in {}", verb(n, "takes", "take"), what)};
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

// Seconds from which on the ranks are accused.
double limit_for(Activity activity, const Ranks& ranks, const Patience& patience) {
  switch (activity) {
    case Activity::kStopped:
      return 0;
    case Activity::kEnded:
      return std::min(kEndedFor, patience.limit_s);
    case Activity::kInput:
      return at_terminal(ranks) ? 0 : kInputFor;
    case Activity::kUninterruptible: {
      // Written data may take long to reach a disk, and a slow read brings some bytes.
      const bool slow = std::any_of(ranks.begin(), ranks.end(), [](const RankReading* rank) {
        return rank->io_bytes > 0 ||
               (rank->subject != nullptr &&
                rank->subject->call.find("sync") != std::string::npos) ||
               (rank->subject != nullptr && rank->subject->call.starts_with("write of"));
      });
      return patience.at_most || slow ? patience.limit_s : kDiskFor;
    }
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
  std::string how = fmt::format("{} of a processor", percent_text(first.cpu));
  if (!first.stack.place.empty()) how += ", at " + first.stack.place;
  Verdict verdict{.kind = Kind::kWorking};
  verdict.headline =
      fmt::format("{} {} ({})", rank_names(ranks), verb(ranks.size(), "works", "work"), how);
  if (gathering != nullptr) verdict.headline += "; " + waits_clause(the, *gathering, ranks.size());
  verdict.headline += ". Nothing looks stuck";
  return about(the, std::move(verdict), ranks);
}

// Of the operation that the sentence has just named.
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

Verdict accuse(const Case& the, Activity activity, const Ranks& ranks, const Gathering* gathering) {
  Wording wording = wording_for(activity, ranks, gathering);
  Verdict verdict{.kind = wording.kind, .hang = true};
  verdict.headline = rank_names(ranks) + " " + wording.text;
  if (gathering != nullptr && !gathering->waiting.empty()) {
    verdict.headline += "; ";
    verdict.headline += wording.kind == Kind::kNotEntered
                            ? waits_in_it(the, *gathering)
                            : waits_clause(the, *gathering, ranks.size());
  }
  if (activity == Activity::kUnseen) {
    verdict.details.push_back("muster cannot see what it does: the inspection did not reach it");
  }
  return about(the, std::move(verdict), ranks);
}

Ranks with(const Ranks& suspects, Activity activity) {
  Ranks found;
  std::copy_if(suspects.begin(), suspects.end(), std::back_inserter(found),
               [&](const RankReading* rank) { return rank->activity == activity; });
  return found;
}

std::optional<Verdict> judge_silent_hosts(const Case& the, const Ranks& unseen) {
  Ranks silent;
  const auto& hosts = the.scene.silent_hosts;
  std::copy_if(unseen.begin(), unseen.end(), std::back_inserter(silent), [&](const auto* rank) {
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

bool gave_up(const RankReading& rank) {
  return rank.activity == Activity::kEnded && rank.state->timed_out;
}

std::optional<Verdict> judge_proven(const Case& the, const Ranks& suspects) {
  for (const Activity activity : {Activity::kStopped, Activity::kEnded, Activity::kInput}) {
    const Ranks ranks = with(suspects, activity);
    if (ranks.empty()) continue;
    const Gathering* gathering = gathering_of(the, ranks);
    if (activity != Activity::kStopped && gathering == nullptr) continue;
    if (gathering == nullptr) return accuse(the, activity, ranks, nullptr);
    Patience patience = patience_of(the.scene, *gathering);
    // Ranks end one after the other.
    if (activity == Activity::kEnded && gathering->what == Gathering::What::kTeardown &&
        patience.waited_s < patience.limit_s) {
      continue;
    }
    const double ended = ranks.front()->state->ended_ago_s;
    if (activity == Activity::kEnded) patience.waited_s = std::max(patience.waited_s, ended);
    if (patience.waited_s >= limit_for(activity, ranks, patience)) {
      return accuse(the, activity, ranks, gathering);
    }
  }
  return judge_silent_hosts(the, with(suspects, Activity::kUnseen));
}

}  // namespace

std::optional<Verdict> judge_time_out(const Case& the) {
  Ranks impatient;
  for (const RankReading& rank : the.ranks) {
    if (gave_up(rank)) impatient.push_back(&rank);
  }
  if (impatient.empty()) return std::nullopt;
  Ranks suspects;
  for (const RankReading& rank : the.ranks) {
    const auto& waiting = the.waits.waiting;
    const bool waits = std::find(waiting.begin(), waiting.end(), &rank) != waiting.end();
    if (!waits && !gave_up(rank)) suspects.push_back(&rank);
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
  const Ranks working = with(suspects, Activity::kWorks);
  constexpr auto kOrder = std::to_array<Activity>(
      {Activity::kEnded, Activity::kInput, Activity::kUninterruptible, Activity::kLock,
       Activity::kLoops, Activity::kIdle, Activity::kNotStarted, Activity::kUnseen});
  for (const Activity activity : kOrder) {
    const Ranks ranks = with(suspects, activity);
    const Gathering* gathering = ranks.empty() ? nullptr : gathering_of(the, ranks);
    if (gathering == nullptr) continue;
    const bool disk = activity == Activity::kUninterruptible;
    // The others may wait for the one that works, in ways that muster does not see.
    if (!working.empty() && !disk && activity != Activity::kEnded) break;
    const Patience patience = patience_of(the.scene, *gathering);
    double limit = limit_for(activity, ranks, patience);
    if (!working.empty()) limit = patience.limit_s;
    if (patience.waited_s >= limit && patience.quiet)
      return accuse(the, activity, ranks, gathering);
    if (working.empty()) return not_yet(the, ranks, *gathering);
  }
  if (working.empty()) return std::nullopt;
  return works(the, working, gathering_of(the, working));
}

}  // namespace muster::why
