// A run under supervision that prints nothing is looked at twice, and ended.
#include <algorithm>

#include "run/supervisor.hpp"

namespace muster::run {
namespace {

constexpr double kBetweenLooks = 1;  // at the ranks of a silent run
constexpr double kLooksTake = 3;     // at most

}  // namespace

void Supervisor::look_whether_stalled() {
  if (patience_.stall_after_s <= 0 || ending_ || engine_over_ || times_asked_ > 0) return;
  if (seconds_since(said_) < patience_.stall_after_s) return;
  if (nothing_to_wait_for()) return;
  looks_.clear();
  seen_twice_ = 0;
  ask_for_looks();
  timers_.push_back(after(kBetweenLooks, [this] { ask_for_looks(); }));
  timers_.push_back(after(kBetweenLooks + kLooksTake, [this] { give_up_stalled(); }));
}

void Supervisor::ask_for_looks() {
  ++times_asked_;
  crew_.send_all({.kind = agent::Order::Kind::kLook});
}

// The first look is what the second is compared with; ranks that have ended are of no interest.
void Supervisor::take_looks(const Host& host, const std::vector<agent::RankLook>& looks) {
  for (const agent::RankLook& look : looks) {
    const RankRecord* const rank = find_rank(look.rank);
    if (rank == nullptr || rank->end || rank->host != host.name) continue;
    const auto [known, is_new] =
        looks_.try_emplace(look.rank, Seen{.rank = look.rank, .host = host.name, .look = look});
    if (is_new || times_asked_ < 2) continue;
    if (known->second.span_s == 0) ++seen_twice_;
    known->second.cpu_s = look.cpu_s - known->second.look.cpu_s;
    known->second.span_s = kBetweenLooks;
    known->second.look = look;
  }
  if (times_asked_ >= 2 && all_seen_twice()) give_up_stalled();
}

bool Supervisor::all_seen_twice() const {
  if (seen_twice_ < running_ranks_) return false;
  return std::all_of(record_.ranks.begin(), record_.ranks.end(), [this](const auto& one) {
    const auto found = looks_.find(one.rank);
    return !is_running(one) || (found != looks_.end() && found->second.span_s > 0);
  });
}

void Supervisor::give_up_stalled() {
  if (times_asked_ == 0 || ending_ || engine_over_) return;
  times_asked_ = 0;
  if (seconds_since(said_) < patience_.stall_after_s) return;  // it has found its voice again
  for (const auto& [rank, seen] : looks_) seen_.push_back(seen);
  record_.stalled_s = seconds_since(said_);
  record_.stalled = what_stands_out(seen_);
  end_run(Reason::kStalled);
}

}  // namespace muster::run
