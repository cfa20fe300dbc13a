// Verdicts for which no single rank is to blame.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "why/mismatch.hpp"
#include "why/rules.hpp"
#include "why/words.hpp"

namespace muster::why {
namespace {

using What = Gathering::What;

constexpr double kProvenFor = 3;  // seconds, because the ranks were not all seen at the same moment
constexpr double kTransportFor = 5;
constexpr double kPollingFor = 300;
constexpr std::size_t kMostSides = 6;
constexpr std::size_t kMostSteps = 8;

struct Advance {
  const inspect::Group* group = nullptr;
  std::int64_t by = 0;
};

Advance largest_advance(const std::vector<RankReading>& ranks) {
  Advance most;
  for (const RankReading& rank : ranks) {
    if (rank.view == nullptr) continue;
    for (const inspect::Group& group : rank.view->groups) {
      if (group.done <= group.done_before) continue;
      const std::int64_t by = group.done - std::max<std::int64_t>(group.done_before, 0);
      if (by > most.by) most = {.group = &group, .by = by};
    }
  }
  return most;
}

std::size_t advanced_among(const Ranks& ranks) {
  return static_cast<std::size_t>(std::count_if(
      ranks.begin(), ranks.end(), [](const RankReading* rank) { return rank->advanced; }));
}

double window_of(const Scene& scene) {
  double window = 0;
  for (const auto& [name, host] : scene.hosts) window = std::max(window, host.window_s);
  return window;
}

// Returns, for example, "rank 0 (n1) waits in recv for rank 1".
std::string step_text(const Step& step, const RankReading& next) {
  return fmt::format("{} waits in {} for rank {}", rank_names({step.rank}),
                     name_of(*step.gathering), next.rank);
}

// Returns the gatherings of the circle's steps, each once; those with the fewest waiting ranks come
// last.
std::vector<const Gathering*> gatherings_of(const Case& the, const std::vector<Step>& circle) {
  std::vector<const Gathering*> found;
  for (const Gathering& gathering : the.waits.gatherings) {
    if (std::any_of(circle.begin(), circle.end(),
                    [&](const Step& step) { return step.gathering == &gathering; })) {
      found.push_back(&gathering);
    }
  }
  return found;
}

bool is_message(const Gathering* gathering) {
  return gathering->what == What::kPointToPoint;
}

bool all_messages(const std::vector<const Gathering*>& gatherings) {
  return std::all_of(gatherings.begin(), gatherings.end(), is_message);
}

std::set<int> members_of(const Gathering& gathering) {
  std::set<int> members;
  for (const Ranks* part :
       {&gathering.waiting, &gathering.begun_elsewhere, &gathering.missing, &gathering.unclear}) {
    for (const RankReading* rank : *part) members.insert(rank->rank);
  }
  return members;
}

// Whether these are two gatherings of the same ranks, of which most wait in one and a few in the
// other. The few have then diverged from the others.
bool few_have_left(const std::vector<const Gathering*>& gatherings) {
  if (gatherings.size() != 2) return false;
  const Gathering& most = *gatherings.front();
  const Gathering& few = *gatherings.back();
  return few.waiting.size() < most.waiting.size() && members_of(most) == members_of(few);
}

// Whether the circle shows that ranks have diverged into different operations. Without sequence
// numbers, there is no other proof that they have.
bool are_different_operations(const std::vector<const Gathering*>& gatherings) {
  if (gatherings.size() < 2) return false;
  if (all_messages(gatherings)) return false;
  if (few_have_left(gatherings)) return true;
  return std::any_of(gatherings.begin(), gatherings.end(), [](const Gathering* g) {
    return !g->recorded || g->what == What::kPointToPoint;
  });
}

// Whether a rank may leave the collective before the others have entered it, or even if they use a
// different root. A rank that has continued then need not be wrong.
bool may_be_left_early(const Gathering& gathering) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"broadcast", "reduce", "gather", "scatter", "broadcast_object_list", "gather_object",
       "scatter_object_list", "MPI_Bcast", "MPI_Reduce", "MPI_Gather", "MPI_Gatherv", "MPI_Scatter",
       "MPI_Scatterv"});
  return std::find(kNames.begin(), kNames.end(), gathering.operation) != kNames.end();
}

// Ranks that have made equal progress, and a gathering in which they wait.
struct Side {
  const Gathering* gathering = nullptr;
  Ranks ranks = {};
  std::string name = {};
};

// Returns the side of all ranks that wait in an operation like this one. Groups that do the same in
// parallel, such as the columns of a grid, are one side.
Side side_of(const Case& the, const Gathering& as) {
  Side side{.gathering = &as, .name = name_of(as)};
  std::size_t groups = 0;
  for (const Gathering& gathering : the.waits.gatherings) {
    if (gathering.what != as.what || gathering.operation != as.operation ||
        gathering.number != as.number) {
      continue;
    }
    side.ranks.insert(side.ranks.end(), gathering.waiting.begin(), gathering.waiting.end());
    ++groups;
  }
  if (groups > 1)
    side.name += fmt::format(" and {} more {}", groups - 1, verb(groups - 1, "group", "groups"));
  return side;
}

Verdict parted(const Case& the, const std::vector<const Gathering*>& gatherings) {
  Side few = side_of(the, *gatherings.back());
  Side most = side_of(the, *gatherings.front());
  const bool leaves = few.gathering->what == What::kTeardown;
  if (!leaves && few.ranks.size() > most.ranks.size()) std::swap(few, most);
  Verdict verdict{.kind = Kind::kDifferentCollectives, .hang = true};
  Ranks ranks = few.ranks;
  if (leaves) {
    verdict.kind = Kind::kEnded;
    verdict.headline = fmt::format("{} never entered {}, but {} already in {}", rank_names(ranks),
                                   most.name, verb(ranks.size(), "is", "are"), few.name);
  } else {
    verdict.headline = fmt::format("ranks are in different operations: {} in {}, {} in {}",
                                   rank_names(ranks), few.name, rank_names(most.ranks), most.name);
  }
  const bool few_may_be_right = !most.gathering->recorded && may_be_left_early(*most.gathering);
  if (!leaves && (few_may_be_right || most.ranks.size() == few.ranks.size())) {
    ranks.insert(ranks.end(), most.ranks.begin(), most.ranks.end());
  }
  if (few_may_be_right) {
    verdict.details.push_back(
        fmt::format("a rank may leave {} early: do all ranks use the same root?", most.name));
  }
  return about(the, std::move(verdict), ranks);
}

struct CircleTime {
  double waited_s = 0;
  double limit_s = 0;
  bool quiet = true;
};

CircleTime time_of(const Case& the, const std::vector<const Gathering*>& gatherings) {
  CircleTime time{.waited_s = 1e18};
  for (const Gathering* gathering : gatherings) {
    const Patience patience = patience_of(the.scene, *gathering);
    time.waited_s = std::min(time.waited_s, patience.waited_s);
    time.quiet = time.quiet && patience.quiet;
    // If all ranks stand still, none is left that could end the wait.
    const bool still =
        std::all_of(gathering->waiting.begin(), gathering->waiting.end(),
                    [](const RankReading* rank) { return rank->still && !rank->stack.spins; });
    const bool proven = gathering->recorded || (still && !moves_data(gathering->waiting));
    time.limit_s = std::max(time.limit_s, proven ? kProvenFor : patience.limit_s);
  }
  return time;
}

Verdict in_circle(const Case& the, const std::vector<Step>& circle, const CircleTime& time) {
  Verdict verdict{.kind = Kind::kEverybodyWaits, .hang = true};
  Ranks ranks;
  std::vector<std::string> steps;
  for (std::size_t i = 0; i < circle.size(); ++i) {
    ranks.push_back(circle[i].rank);
    steps.push_back(step_text(circle[i], *circle[(i + 1) % circle.size()].rank));
  }
  verdict.headline =
      fmt::format("ranks wait for each other in a circle: {}", listed(steps, kMostSteps));
  verdict.headline +=
      fmt::format("; for {}{}", circle.front().gathering->recorded ? "" : "at most ",
                  seconds_text(time.waited_s));
  return about(the, std::move(verdict), ranks);
}

// The verdict if all ranks of the circle are in sends and receives that only stacks show. Stacks do
// not show the peer, so it names no circle.
Verdict all_in_messages(const Case& the, const std::vector<const Gathering*>& gatherings,
                        const CircleTime& time) {
  Verdict verdict{.kind = Kind::kEverybodyWaits, .hang = true};
  Ranks ranks;
  std::vector<std::string> parts;
  for (const Gathering* gathering : gatherings) {
    ranks.insert(ranks.end(), gathering->waiting.begin(), gathering->waiting.end());
    parts.push_back(fmt::format("{} {} in {}", rank_names(gathering->waiting),
                                verb(gathering->waiting.size(), "is", "are"), name_of(*gathering)));
  }
  verdict.headline = fmt::format(
      "ranks wait for each other's messages: {}, and nobody is left who could end it; "
      "for at most {}",
      listed(parts, kMostSides), seconds_text(time.waited_s));
  return about(the, std::move(verdict), ranks);
}

// The verdict if ranks are in calls of the same name but at different places in the program.
std::optional<Verdict> at_several_places(const Case& the, const Gathering& gathering) {
  std::map<std::string, Ranks> places;
  for (const RankReading* rank : gathering.waiting) {
    if (rank->stack.place.empty()) return std::nullopt;
    places[rank->stack.place].push_back(rank);
  }
  if (places.size() < 2) return std::nullopt;
  std::vector<std::pair<std::string, Ranks>> sides(places.begin(), places.end());
  std::stable_sort(sides.begin(), sides.end(),
                   [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::vector<std::string> parts;
  for (const auto& [place, ranks] : sides) {
    parts.push_back(
        fmt::format("{} {} at {}", rank_names(ranks), verb(ranks.size(), "is", "are"), place));
  }
  const bool has_few = sides.front().second.size() < sides.back().second.size();
  Verdict verdict{.kind = has_few ? Kind::kDifferentCollectives : Kind::kEverybodyWaits,
                  .hang = true};
  verdict.headline = fmt::format("ranks wait for each other in {} at different places: {}",
                                 name_of(gathering), listed(parts, kMostSides));
  return about(the, std::move(verdict), has_few ? sides.front().second : gathering.waiting);
}

}  // namespace

std::optional<Verdict> judge_progress(const Case& the) {
  const Advance advance = largest_advance(the.ranks);
  if (advance.group == nullptr) return std::nullopt;
  const std::size_t involved = the.waits.waiting.size() + the.waits.culprits.size();
  const std::size_t culprits = advanced_among(the.waits.culprits);
  const std::size_t advanced = advanced_among(the.waits.waiting) + culprits;
  if (involved > 0 && culprits == 0 && 2 * advanced <= involved) return std::nullopt;
  // One part of the job may hang while another advances.
  for (const Gathering& gathering : the.waits.gatherings) {
    if (!gathering.recorded || advanced_among(gathering.waiting) > 0) continue;
    if (gathering.age_s < patience_of(the.scene, gathering).limit_s) continue;
    if (advanced_among(gathering.missing) == 0) return std::nullopt;
  }
  const inspect::Group& group = *advance.group;
  std::string name = "collectives";
  for (const auto& operation : group.operations) {
    if (operation.done) name = operation.name;
  }
  Verdict verdict{.kind = Kind::kProgress};
  verdict.headline = fmt::format("the job advances: {}{} #{} -> #{} in {}", name,
                                 is_default(group) ? "" : " of group " + group.name,
                                 group.done_before, group.done, seconds_text(window_of(the.scene)));
  return about(the, std::move(verdict), {});
}

std::optional<Verdict> judge_mismatch(const Case& the) {
  const auto mismatch = find_mismatch(the.ranks);
  if (!mismatch || mismatch->age_s < kProvenFor) return std::nullopt;
  Verdict verdict{.hang = true};
  verdict.kind = mismatch->names ? Kind::kDifferentCollectives : Kind::kDifferentSizes;
  std::vector<std::string> parts;
  // The smallest group first, since that is where to look.
  for (auto side = mismatch->sides.rbegin(); side != mismatch->sides.rend(); ++side) {
    const std::size_t n = side->second.size();
    parts.push_back(fmt::format("{} {} {}", rank_names(side->second),
                                mismatch->names ? "called" : verb(n, "passes", "pass"),
                                side->first));
  }
  const std::string group = mismatch->group.empty() ? "" : " of group " + mismatch->group;
  const std::string name = mismatch->names ? "collective" : mismatch->operation;
  verdict.headline = fmt::format(
      "{} #{}{} {} ranks: {}; they have waited for {}", name, mismatch->number, group,
      mismatch->names ? "is not the same on all" : "has different sizes or types on different",
      listed(parts, kMostSides), seconds_text(mismatch->age_s));
  if (!mismatch->shift.empty()) verdict.details.push_back(mismatch->shift);
  Ranks ranks;
  const auto& sides = mismatch->sides;
  for (std::size_t i = 1; i < sides.size(); ++i) {
    ranks.insert(ranks.end(), sides[i].second.begin(), sides[i].second.end());
  }
  // If both sides are equally large, neither is the exception.
  if (sides.size() == 2 && sides[0].second.size() == sides[1].second.size()) {
    ranks.insert(ranks.end(), sides[0].second.begin(), sides[0].second.end());
  }
  return about(the, std::move(verdict), ranks);
}

std::optional<Verdict> judge_transport(const Case& the) {
  if (the.links.connections.empty() || the.waits.waiting.empty()) return std::nullopt;
  // If a rank's activity explains why it is missing from its collective, that matters more than the
  // state of connections.
  const auto& culprits = the.waits.culprits;
  const bool explained = std::any_of(culprits.begin(), culprits.end(), [](const RankReading* rank) {
    return rank->activity != Activity::kIdle && rank->activity != Activity::kUnseen;
  });
  if (explained) return std::nullopt;
  const Gathering& gathering = the.waits.gatherings.front();
  const Patience patience = patience_of(the.scene, gathering);
  if (patience.waited_s < kTransportFor) return std::nullopt;
  Verdict verdict{.kind = Kind::kNoTransportProgress, .hang = true};
  verdict.hosts = the.links.hosts;
  const std::string where = verdict.hosts.size() == 1 ? "to and from " + verdict.hosts.front()
                                                      : "between " + listed(verdict.hosts, 6);
  Ranks ranks;
  for (const RankReading& rank : the.ranks) {
    if (verdict.hosts.size() == 1
            ? rank.host == verdict.hosts.front()
            : std::any_of(the.links.connections.begin(), the.links.connections.end(),
                          [&](const auto& bad) { return bad.rank == &rank; })) {
      ranks.push_back(&rank);
    }
  }
  const std::size_t n = the.waits.waiting.size();
  verdict.headline = fmt::format(
      "data {} does not arrive; {} {} in {}{}{}", where, count_of_ranks(n),
      patience.at_most ? verb(n, "waits", "wait") : verb(n, "has waited", "have waited"),
      name_of(gathering), patience.at_most ? ", for at most " : " for ",
      seconds_text(patience.waited_s));
  add_connections(the, verdict);
  return about(the, std::move(verdict), ranks);
}

std::optional<Verdict> judge_circle(const Case& the) {
  const std::vector<Step> circle = find_circle(the.waits);
  if (circle.empty()) return std::nullopt;
  const std::vector<const Gathering*> gatherings = gatherings_of(the, circle);
  const CircleTime time = time_of(the, gatherings);
  Verdict verdict = are_different_operations(gatherings) ? parted(the, gatherings)
                    : all_messages(gatherings) && !gatherings.front()->recorded
                        ? all_in_messages(the, gatherings, time)
                        : in_circle(the, circle, time);
  if (time.waited_s >= time.limit_s && time.quiet) return verdict;
  verdict.kind = Kind::kWaiting;
  verdict.hang = false;
  verdict.headline += "; that may be normal, since it has not lasted long or ranks moved meanwhile";
  verdict.next = advice_for(verdict.kind);
  return verdict;
}

std::optional<Verdict> judge_stuck(const Case& the) {
  const auto found =
      std::find_if(the.waits.gatherings.begin(), the.waits.gatherings.end(),
                   [](const Gathering& g) { return g.missing.empty() && g.unclear.empty(); });
  if (found == the.waits.gatherings.end()) return std::nullopt;
  const Patience patience = patience_of(the.scene, *found);
  const std::size_t n = found->waiting.size();
  // In a program that mostly communicates, all ranks are often in the same call, so wait longer.
  const bool polls = std::any_of(found->waiting.begin(), found->waiting.end(),
                                 [](const RankReading* rank) { return rank->stack.spins; });
  const double limit =
      !found->recorded && polls ? std::max(kPollingFor, patience.limit_s) : patience.limit_s;
  const std::string who =
      fmt::format("{} {} in {}", count_of_ranks(n), verb(n, "is", "are"), name_of(*found));
  const std::string how_long =
      (patience.at_most ? "for at most " : "for ") + seconds_text(patience.waited_s);
  Verdict verdict{.kind = Kind::kWaiting};
  if (moves_data(found->waiting)) {
    verdict.kind = Kind::kWorking;
    verdict.headline =
        fmt::format("{}, {}, and data still moves; nothing looks stuck", who, how_long);
  } else if (patience.waited_s < limit || !patience.quiet) {
    verdict.headline = fmt::format("{}, {}; that may be normal", who, how_long);
  } else {
    if (!found->recorded) {
      if (auto parted = at_several_places(the, *found)) return parted;
    }
    verdict.kind = Kind::kUnknown;
    verdict.hang = true;
    verdict.next = "test the network between the hosts: muster check, muster bench";
    verdict.headline = fmt::format(
        "{}, {}: no rank is missing, no data moves, and no connection shows why", who, how_long);
    if (!found->recorded) {
      verdict.details.push_back(
          "without a recorder muster knows neither their groups nor their sizes: see muster-torch");
    }
  }
  return about(the, std::move(verdict), verdict.hang ? found->waiting : Ranks());
}

}  // namespace muster::why
