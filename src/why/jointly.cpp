// Verdicts on what no single rank is to blame for.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "why/mismatch.hpp"
#include "why/rules.hpp"
#include "why/words.hpp"

namespace muster::why {
namespace {

using What = Gathering::What;

constexpr double kProvenFor = 3;  // seconds: a view of several ranks is not of one moment
constexpr double kTransportFor = 5;
constexpr double kPollingCircleFor = 120;  // ranks that poll and advance may look like one
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

// "rank 0 (n1) waits in recv for rank 1".
std::string step_text(const Step& step, const RankReading& next) {
  return fmt::format("{} waits in {} for rank {}", rank_names({step.rank}),
                     name_of(*step.gathering), next.rank);
}

// All that the circle's ranks wait in, each once; those with fewest ranks last.
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

// Without numbers the operations are all that shows that ranks have parted.
bool are_different_operations(const std::vector<const Gathering*>& gatherings) {
  if (gatherings.size() < 2) return false;
  const auto is_message = [](const Gathering* g) { return g->what == What::kPointToPoint; };
  if (std::all_of(gatherings.begin(), gatherings.end(), is_message)) return false;
  return std::any_of(gatherings.begin(), gatherings.end(), [](const Gathering* g) {
    return !g->recorded || g->what == What::kPointToPoint;
  });
}

Verdict parted(const Case& the, const std::vector<const Gathering*>& gatherings) {
  const Gathering& few = *gatherings.back();
  const Gathering& most = *gatherings.front();
  Verdict verdict{.kind = Kind::kDifferentCollectives, .hang = true};
  Ranks ranks = few.waiting;
  if (few.what == What::kTeardown) {
    verdict.kind = Kind::kNotEntered;
    verdict.headline = fmt::format("{} never entered {}, but {} already in {}", rank_names(ranks),
                                   name_of(most), verb(ranks.size(), "is", "are"), name_of(few));
  } else {
    verdict.headline =
        fmt::format("ranks are in different operations: {} in {}, {} in {}", rank_names(ranks),
                    name_of(few), rank_names(most.waiting), name_of(most));
  }
  if (most.waiting.size() == few.waiting.size() && few.what != What::kTeardown) {
    ranks.insert(ranks.end(), most.waiting.begin(), most.waiting.end());
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
    if (gathering->recorded) {
      time.limit_s = std::max(time.limit_s, kProvenFor);
    } else {
      const bool polls = std::any_of(gathering->waiting.begin(), gathering->waiting.end(),
                                     [](const RankReading* rank) { return !rank->still; });
      time.limit_s = std::max(time.limit_s, polls ? kPollingCircleFor : patience.limit_s);
    }
  }
  return time;
}

}  // namespace

std::optional<Verdict> judge_progress(const Case& the) {
  const Advance advance = largest_advance(the.ranks);
  if (advance.group == nullptr) return std::nullopt;
  const std::size_t involved = the.waits.waiting.size() + the.waits.culprits.size();
  const std::size_t culprits = advanced_among(the.waits.culprits);
  const std::size_t advanced = advanced_among(the.waits.waiting) + culprits;
  if (involved > 0 && culprits == 0 && 2 * advanced <= involved) return std::nullopt;
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
  // The few first: they are the ones to look at.
  for (auto side = mismatch->sides.rbegin(); side != mismatch->sides.rend(); ++side) {
    const std::size_t n = side->second.size();
    parts.push_back(fmt::format(
        "{} {} {}", rank_names(side->second),
        mismatch->names ? verb(n, "is in", "are in") : verb(n, "passes", "pass"), side->first));
  }
  const std::string group = mismatch->group.empty() ? "" : " of group " + mismatch->group;
  const std::string name = mismatch->names ? "collective" : [&] {
    const Ranks& some = mismatch->sides.front().second;
    for (const auto& g : some.front()->view->groups) {
      for (const auto& operation : g.operations) {
        if (operation.number == mismatch->number) return operation.name;
      }
    }
    return std::string("collective");
  }();
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
  // Of equally many, none is the odd one.
  if (sides.size() == 2 && sides[0].second.size() == sides[1].second.size()) {
    ranks.insert(ranks.end(), sides[0].second.begin(), sides[0].second.end());
  }
  return about(the, std::move(verdict), ranks);
}

std::optional<Verdict> judge_transport(const Case& the) {
  if (the.links.connections.empty() || the.waits.waiting.empty()) return std::nullopt;
  // What keeps a rank from its collective comes before what its connections look like meanwhile.
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
  std::vector<const Gathering*> gatherings = gatherings_of(the, circle);
  const CircleTime time = time_of(the, gatherings);
  if (time.waited_s < time.limit_s || !time.quiet) {
    Verdict verdict{.kind = Kind::kWaiting};
    verdict.headline = "ranks wait for each other, but not for long, or they moved meanwhile";
    return about(the, std::move(verdict), {});
  }
  if (are_different_operations(gatherings)) return parted(the, gatherings);
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

std::optional<Verdict> judge_stuck(const Case& the) {
  const auto found = std::find_if(the.waits.gatherings.begin(), the.waits.gatherings.end(),
                                  [](const Gathering& g) { return g.missing.empty(); });
  if (found == the.waits.gatherings.end()) return std::nullopt;
  const Patience patience = patience_of(the.scene, *found);
  const std::size_t n = found->waiting.size();
  const std::string who =
      fmt::format("{} {} in {}", count_of_ranks(n), verb(n, "is", "are"), name_of(*found));
  const std::string how_long =
      (patience.at_most ? "for at most " : "for ") + seconds_text(patience.waited_s);
  Verdict verdict{.kind = Kind::kWaiting};
  if (moves_data(found->waiting)) {
    verdict.kind = Kind::kWorking;
    verdict.headline =
        fmt::format("{}, {}, and data still moves. Nothing looks stuck", who, how_long);
  } else if (patience.waited_s < patience.limit_s || !patience.quiet ||
             found->what == What::kTeardown) {
    verdict.headline = fmt::format("{}, {}; that may be normal", who, how_long);
  } else {
    verdict.kind = Kind::kUnknown;
    verdict.hang = true;
    verdict.headline = fmt::format(
        "{}, {}: nobody is missing, no data moves, and no connection shows why", who, how_long);
  }
  return about(the, std::move(verdict), verdict.hang ? found->waiting : Ranks());
}

}  // namespace muster::why
