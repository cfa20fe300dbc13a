#include "why/waits.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "base/output_line.hpp"

namespace muster::why {
namespace {

using inspect::Group;
using inspect::Operation;
using In = StackReading::In;
using What = Gathering::What;

// What all ranks together know about one process group.
struct GroupState {
  std::string name;  // empty: the default group
  std::set<int> members = {};
  std::unordered_map<int, std::int64_t> begun = {};  // number of collectives begun, by rank
  double longest_gap_s = 0;
  bool has_all = false;  // its members are all ranks of the job
};
using GroupStates = std::map<std::string, GroupState>;

std::int64_t begun_in(const Group& group) {
  std::int64_t begun = group.begun;
  for (const Operation& operation : group.operations) {
    if (!is_point_to_point(operation.name)) begun = std::max(begun, operation.number);
  }
  return begun;
}

GroupStates read_groups(const std::vector<RankReading>& ranks) {
  GroupStates states;
  for (const RankReading& rank : ranks) {
    if (rank.view == nullptr) continue;
    for (const Group& group : rank.view->groups) {
      GroupState& state = states[key_of(group)];
      if (!is_default(group)) state.name = group.name;
      // All ranks of the job are members of the default group; adding them once is enough.
      if (is_default(group) && group.ranks.empty() && !state.has_all) {
        for (const RankReading& member : ranks) state.members.insert(member.rank);
        state.has_all = true;
      }
      // The members are the same on all ranks. Reading them only once keeps the cost proportional
      // to the number of ranks.
      if (state.begun.empty()) state.members.insert(group.ranks.begin(), group.ranks.end());
      state.members.insert(rank.rank);
      state.begun[rank.rank] = std::max(state.begun[rank.rank], begun_in(group));
      state.longest_gap_s = std::max(state.longest_gap_s, group.longest_gap_s);
    }
  }
  return states;
}

// The oldest operation that is not done; null if there is none.
const Operation* pending_in(const Group& group) {
  const Operation* oldest = nullptr;
  for (const Operation& operation : group.operations) {
    if (operation.done || is_point_to_point(operation.name)) continue;
    if (oldest == nullptr || operation.number < oldest->number) oldest = &operation;
  }
  return oldest;
}

struct Message {
  const Operation* operation = nullptr;
  const Group* group = nullptr;
};

// Returns a pending send or receive that the rank recorded, if there is one.
std::optional<Message> pending_message(const RankReading& rank) {
  for (const Group& group : rank.view->groups) {
    for (const Operation& operation : group.operations) {
      if (operation.done || !is_point_to_point(operation.name)) continue;
      return Message{.operation = &operation, .group = &group};
    }
  }
  return std::nullopt;
}

// The peer in "send 0->1" or "recv 1<-0", as a rank of the job.
std::optional<int> peer_of(const Message& message) {
  const std::string& name = message.operation->name;
  std::size_t arrow = name.find("->");
  if (arrow == std::string::npos) arrow = name.find("<-");
  if (arrow == std::string::npos) return std::nullopt;
  int peer = 0;
  const char* begin = name.data() + arrow + 2;
  if (std::from_chars(begin, name.data() + name.size(), peer).ec != std::errc()) {
    return std::nullopt;
  }
  const std::vector<int>& members = message.group->ranks;
  if (members.empty()) return peer;
  if (peer < 0 || static_cast<std::size_t>(peer) >= members.size()) return std::nullopt;
  return members[static_cast<std::size_t>(peer)];
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool has_groups(const RankReading& rank) {
  return rank.view != nullptr && !rank.view->groups.empty();
}

// Whether a rank that recorded nothing is in an operation all the same, according to its stack.
bool may_have_begun(const RankReading& rank) {
  return rank.view != nullptr && !rank.view->recorded && !rank.elsewhere &&
         rank.stack.in == In::kOperation;
}

// Whether it is unclear if the rank waits for others. A Python stack does not show a wait for an
// asynchronous operation, and without any stack a rank that waits for others looks like one that
// waits for something else.
bool is_unclear(const RankReading& rank) {
  if (rank.activity == Activity::kUnseen) return true;
  if (rank.main == nullptr || rank.elsewhere || rank.stack.native) return false;
  if (rank.activity != Activity::kIdle) return false;
  return rank.stack.in == In::kUnknown || rank.main->call.starts_with("futex");
}

class Finder {
 public:
  explicit Finder(const std::vector<RankReading>& ranks)
      : ranks_(ranks), groups_(read_groups(ranks)) {
    for (const RankReading& rank : ranks) by_number_[rank.rank] = &rank;
  }

  Waits find() {
    find_recorded();
    find_in_stacks();
    Waits waits;
    for (auto& [key, gathering] : recorded_) take(std::move(gathering), waits);
    for (auto& [key, gathering] : stacks_) take(std::move(gathering), waits);
    for (Gathering& gathering : messages_) take(std::move(gathering), waits);
    std::stable_sort(
        waits.gatherings.begin(), waits.gatherings.end(),
        [](const Gathering& a, const Gathering& b) { return a.waiting.size() > b.waiting.size(); });
    find_culprits(waits);
    return waits;
  }

 private:
  void find_recorded() {
    for (const RankReading& rank : ranks_) {
      if (rank.main == nullptr || rank.view == nullptr) continue;
      for (const Group& group : rank.view->groups) {
        if (const Operation* pending = pending_in(group)) add(rank, group, *pending);
      }
    }
    for (auto& [key, gathering] : recorded_) {
      gathering.age_s = median(ages_[key]);
      find_missing(groups_.at(key.first), gathering);
    }
  }

  void add(const RankReading& rank, const Group& group, const Operation& pending) {
    const Key key{key_of(group), pending.number};
    Gathering& gathering = recorded_[key];
    if (!rank.elsewhere) {
      gathering.waiting.push_back(&rank);
      ages_[key].push_back(std::max(pending.age_s, 0.0));
      waiting_.insert(&rank);
    } else {
      gathering.begun_elsewhere.push_back(&rank);
    }
    if (gathering.recorded) return;
    const GroupState& state = groups_.at(key.first);
    gathering.recorded = true;
    gathering.group = state.name;
    gathering.operation = pending.name;
    gathering.number = pending.number;
    gathering.sizes = pending.sizes;
    gathering.longest_gap_s = std::max(state.longest_gap_s, 0.0);
  }

  void find_missing(const GroupState& state, Gathering& gathering) {
    for (const int member : state.members) {
      const auto rank = by_number_.find(member);
      if (rank == by_number_.end()) continue;
      const auto begun = state.begun.find(member);
      // A rank that has ended takes part in nothing, whatever it has begun.
      const bool ended = rank->second->activity == Activity::kEnded;
      if (gave_up(*rank->second)) continue;
      if (begun != state.begun.end() && begun->second >= gathering.number && !ended) continue;
      const bool told = begun != state.begun.end() ||
                        (rank->second->view != nullptr && rank->second->view->recorded);
      if (!told && may_have_begun(*rank->second)) continue;
      if (!told && is_unclear(*rank->second)) {
        gathering.unclear.push_back(rank->second);
      } else {
        gathering.missing.push_back(rank->second);
      }
    }
  }

  // Covers what find_recorded does not: ranks without a recorder, messages, and the rendezvous.
  void find_in_stacks() {
    for (const RankReading& rank : ranks_) {
      if (rank.main == nullptr || rank.elsewhere || waiting_.contains(&rank)) continue;
      if (const auto message = pending_message(rank)) {
        add_message(rank, *message);
      } else if (rank.stack.in == In::kOperation || rank.stack.in == In::kTeardown) {
        stacks_[rank.stack.operation].waiting.push_back(&rank);
      } else if (rank.stack.in == In::kRendezvous) {
        stacks_[has_groups(rank) ? "the making of a process group" : ""].waiting.push_back(&rank);
      }
    }
    merge_unnamed();
    for (auto& [name, gathering] : stacks_) {
      gathering.operation = name;
      gathering.what = name.empty()              ? What::kRendezvous
                       : is_point_to_point(name) ? What::kPointToPoint
                                                 : What::kCollective;
      if (!name.empty() && gathering.waiting.front()->stack.in == In::kTeardown) {
        gathering.what = What::kTeardown;
      }
      for (const RankReading* rank : gathering.waiting) waiting_.insert(rank);
    }
    for (auto& [name, gathering] : stacks_) find_absent(gathering);
  }

  void add_message(const RankReading& rank, const Message& message) {
    const auto peer = peer_of(message);
    const auto found = by_number_.find(peer.value_or(-1));
    if (found == by_number_.end()) {
      stacks_[message.operation->name].waiting.push_back(&rank);
      return;
    }
    messages_.push_back({.what = What::kPointToPoint,
                         .operation = message.operation->name,
                         .recorded = true,
                         .waiting = {&rank},
                         .missing = {found->second},
                         .age_s = std::max(message.operation->age_s, 0.0),
                         .longest_gap_s = std::max(message.group->longest_gap_s, 0.0)});
    waiting_.insert(&rank);
  }

  // If some stacks do not name their collective, assumes that it is the one that most others are
  // in.
  void merge_unnamed() {
    const auto unnamed = stacks_.find(std::string(kUnnamedOperation));
    if (unnamed == stacks_.end()) return;
    Gathering* most = nullptr;
    for (auto& [name, gathering] : stacks_) {
      if (name.empty() || name == kUnnamedOperation || is_point_to_point(name)) continue;
      if (gathering.waiting.front()->stack.in == In::kTeardown) continue;
      if (most == nullptr || gathering.waiting.size() > most->waiting.size()) most = &gathering;
    }
    if (most == nullptr) return;
    for (const RankReading* rank : unnamed->second.waiting) most->waiting.push_back(rank);
    stacks_.erase(unnamed);
  }

  void find_absent(Gathering& gathering) const {
    const std::unordered_set<const RankReading*> here(gathering.waiting.begin(),
                                                      gathering.waiting.end());
    Ranks busy_elsewhere;
    for (const RankReading& rank : ranks_) {
      if (here.contains(&rank)) continue;
      if (gathering.what == What::kRendezvous && has_passed_rendezvous(rank)) continue;
      if (gathering.what == What::kTeardown && rank.activity == Activity::kEnded) continue;
      if (gave_up(rank)) continue;
      if (waiting_.contains(&rank)) {
        busy_elsewhere.push_back(&rank);
      } else {
        // A rank that is not seen at the rendezvous counts as missing, even if too little was seen
        // of it: it is probably on its way there.
        const bool may_be_here = gathering.what != What::kRendezvous && is_unclear(rank);
        (may_be_here ? gathering.unclear : gathering.missing).push_back(&rank);
      }
    }
    // Stacks do not show a message's peer. It may be any rank that does not wait. If all ranks
    // wait, it is one of those that wait elsewhere or, if none does, of those in the same call.
    const bool message = gathering.what == What::kPointToPoint;
    if (message && !gathering.missing.empty()) return;
    for (const RankReading* rank : busy_elsewhere) gathering.missing.push_back(rank);
    if (message && gathering.missing.empty() && gathering.waiting.size() > 1) {
      gathering.missing = gathering.waiting;
    }
  }

  static bool has_passed_rendezvous(const RankReading& rank) {
    return has_groups(rank) || rank.stack.in == In::kOperation || rank.stack.in == In::kTeardown;
  }

  void take(Gathering gathering, Waits& waits) const {
    if (!gathering.waiting.empty()) waits.gatherings.push_back(std::move(gathering));
  }

  void find_culprits(Waits& waits) const {
    std::set<int> culprits;
    std::set<int> unclear;
    for (const Gathering& gathering : waits.gatherings) {
      for (const RankReading* rank : gathering.missing) {
        if (!waiting_.contains(rank)) culprits.insert(rank->rank);
      }
      for (const RankReading* rank : gathering.unclear) {
        if (!waiting_.contains(rank)) unclear.insert(rank->rank);
      }
    }
    for (const int rank : culprits) waits.culprits.push_back(by_number_.at(rank));
    for (const int rank : unclear) {
      if (!culprits.contains(rank)) waits.unclear.push_back(by_number_.at(rank));
    }
    for (const RankReading& rank : ranks_) {
      if (waiting_.contains(&rank)) waits.waiting.push_back(&rank);
    }
  }

  using Key = std::pair<std::string, std::int64_t>;
  const std::vector<RankReading>& ranks_;
  GroupStates groups_;
  std::unordered_map<int, const RankReading*> by_number_;
  std::map<Key, Gathering> recorded_;
  std::map<Key, std::vector<double>> ages_;
  std::map<std::string, Gathering> stacks_;  // by operation; "" is the rendezvous
  std::vector<Gathering> messages_;          // messages with known peers, one entry each
  std::unordered_set<const RankReading*> waiting_;
};

// Returns the first gathering in which the rank waits for one of `alive`, and that other rank.
std::optional<std::pair<const Gathering*, const RankReading*>> next_step(
    const Waits& waits, const RankReading* rank,
    const std::unordered_set<const RankReading*>& alive) {
  for (const Gathering& gathering : waits.gatherings) {
    if (std::find(gathering.waiting.begin(), gathering.waiting.end(), rank) ==
        gathering.waiting.end()) {
      continue;
    }
    for (const RankReading* other : gathering.missing) {
      if (other != rank && alive.contains(other)) return std::pair(&gathering, other);
    }
  }
  return std::nullopt;
}

// Repeatedly removes ranks that wait only for ranks that do not wait or were removed before. The
// remaining ranks are in a circle or wait for one that is.
std::unordered_set<const RankReading*> in_or_before_circles(const Waits& waits) {
  std::unordered_set<const RankReading*> alive(waits.waiting.begin(), waits.waiting.end());
  while (true) {
    std::unordered_set<const RankReading*> left;
    for (const Gathering& gathering : waits.gatherings) {
      std::size_t awaited = 0;
      const RankReading* only = nullptr;
      for (const RankReading* rank : gathering.missing) {
        if (!alive.contains(rank)) continue;
        ++awaited;
        only = rank;
      }
      for (const RankReading* rank : gathering.waiting) {
        if (awaited > 1 || (awaited == 1 && only != rank)) left.insert(rank);
      }
    }
    for (auto rank = left.begin(); rank != left.end();) {
      rank = alive.contains(*rank) ? std::next(rank) : left.erase(rank);
    }
    if (left.size() == alive.size()) return alive;
    alive = std::move(left);
  }
}

}  // namespace

Waits find_waits(const std::vector<RankReading>& ranks) {
  return Finder(ranks).find();
}

std::vector<Step> find_circle(const Waits& waits) {
  const std::unordered_set<const RankReading*> alive = in_or_before_circles(waits);
  const auto first = std::find_if(waits.waiting.begin(), waits.waiting.end(),
                                  [&](const RankReading* rank) { return alive.contains(rank); });
  if (first == waits.waiting.end()) return {};
  std::vector<Step> path;
  const RankReading* rank = *first;
  while (true) {
    const auto again =
        std::find_if(path.begin(), path.end(), [&](const Step& step) { return step.rank == rank; });
    if (again != path.end()) return {again, path.end()};
    const auto next = next_step(waits, rank, alive);
    if (!next) return {};
    path.push_back({rank, next->first});
    rank = next->second;
  }
}

std::string name_of(const Gathering& gathering) {
  if (gathering.what == Gathering::What::kRendezvous) return "the rendezvous";
  std::string name = gathering.operation.empty() ? "a collective" : gathering.operation;
  if (gathering.number > 0) name += fmt::format(" #{}", gathering.number);
  if (!gathering.group.empty()) name += fmt::format(" of group {}", gathering.group);
  return name;
}

const Gathering* main_gathering(const Waits& waits, const RankReading& rank) {
  for (const Gathering& gathering : waits.gatherings) {
    if (std::find(gathering.missing.begin(), gathering.missing.end(), &rank) !=
        gathering.missing.end()) {
      return &gathering;
    }
  }
  return nullptr;
}

bool is_default(const Group& group) {
  // libmuster's first group has all ranks of the job, as PyTorch's default group has.
  return group.description == "default_pg" || group.name == "0" || group.name == "muster/0" ||
         group.name.empty();
}

std::string key_of(const Group& group) {
  // A group may have one backend for CPUs and one for GPUs, which count their operations
  // separately.
  if (is_default(group)) return group.backend;
  std::vector<int> members = group.ranks;
  std::sort(members.begin(), members.end());
  // If the members are unknown, the key lacks them, so that ranks that do not know them agree.
  return fmt::format("{} {} {}", group.backend, group.name,
                     members.empty() ? "" : ranks_text(members));
}

}  // namespace muster::why
