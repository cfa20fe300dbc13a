// Inspects a supervised run whose ranks stop printing, communicating or computing. The verdict is
// shown and stored before anything is ended.
#include <algorithm>

#include <fmt/format.h>

#include "run/inspection.hpp"
#include "run/supervisor.hpp"
#include "why/idle.hpp"

namespace muster::run {
namespace {

constexpr double kLongestGlance = 30;  // seconds between two looks at a silent run
constexpr double kShortestGlance = 2;
constexpr agent::Inspection kGlance{.stacks = false};
constexpr agent::Inspection kWholeLook{};
// A rank has timed out, and the engine is about to end the others.
constexpr agent::Inspection kLastLook{.window_ms = 200};
// Seconds to wait for the report of the time-out that may have cut off a rank.
constexpr double kTimeOutIsTold = 0.7;

}  // namespace

void Supervisor::inspect(const agent::Inspection& what, Urgency urgency, const Then& then) {
  inquiry_.begin(what, urgency, [this, then](Result<HostViews> views) {
    if (views) {
      std::set<std::string> members;
      for (const Host& host : hosts_) {
        if (!host.done && !host.lost) members.insert(host.name);
      }
      why::Scene scene = scene_of(record_, members, *views,
                                  {.now_s = loop_.unix_time(), .silent_s = seconds_since(said_)});
      scene.master_address = master_address_;
      scene.master_port = master_port_;
      then(scene);
    } else {
      then(unexpected(views.error()));
    }
    check_over();
  });
}

// Asks the hosts and returns those that can answer.
std::set<std::string> Supervisor::ask_hosts(const agent::Inspection& what) {
  std::set<std::string> asked;
  agent::Order order{.kind = agent::Order::Kind::kInspect, .inspection = what};
  bool nccl_was_asked = !what.stacks;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].done || hosts_[i].lost || !crew_.connected(i)) continue;
    order.inspection.ask_nccl = !nccl_was_asked && runs_ranks(hosts_[i].name);
    nccl_was_asked = nccl_was_asked || order.inspection.ask_nccl;
    crew_.send(i, order);
    asked.insert(hosts_[i].name);
  }
  return asked;
}

void Supervisor::look_whether_stalled() {
  if (ending_ || engine_over_ || nothing_to_wait_for()) return;
  const double silent_s = seconds_since(said_);
  if (patience_.stall_after_s > 0 && silent_s >= patience_.stall_after_s) {
    return inspect(kWholeLook, Urgency::kSilence, [this](const auto& seen) {
      if (seen) end_if_stalled(*seen);
    });
  }
  if (patience_.idle_after_s <= 0) return;
  const double pause_s = std::clamp(patience_.idle_after_s / 4, kShortestGlance, kLongestGlance);
  if (silent_s < pause_s || seconds_since(glanced_) < pause_s) return;
  inspect(kGlance, Urgency::kGlance, [this](const auto& seen) {
    if (seen) take_glance(*seen);
  });
}

// Whether every running rank on a reachable host was inspected and did nothing meanwhile.
bool Supervisor::is_idle(const why::Scene& scene) const {
  const auto is_seen = [&](const why::RankState& rank) {
    const auto host = scene.hosts.find(rank.host);
    if (host == scene.hosts.end()) return false;
    return std::ranges::any_of(host->second.ranks, [&](const inspect::RankView& view) {
      return view.rank == rank.rank && !view.processes.empty();
    });
  };
  const auto& lost = record_.lost_hosts;
  const bool all_seen = std::ranges::all_of(scene.ranks, [&](const why::RankState& rank) {
    return rank.life != why::RankState::Life::kRunning || is_seen(rank) ||
           std::ranges::find(lost, rank.host) != lost.end();
  });
  return all_seen && why::is_idle(scene);
}

// Checks again, since a rank may have printed something or restarted while the hosts were asked.
void Supervisor::end_if_stalled(const why::Scene& scene) {
  if (ending_ || engine_over_ || seconds_since(said_) < patience_.stall_after_s) return;
  end_stalled(show_verdict(
      scene, fmt::format("no rank has printed anything for {:.0f} s", seconds_since(said_))));
}

void Supervisor::end_stalled(const std::string& headline) {
  record_.stalled_s = seconds_since(said_);
  record_.stalled = headline;
  end_run(Reason::kStalled);
}

void Supervisor::take_glance(const why::Scene& scene) {
  glanced_ = loop_.now();
  if (!is_idle(scene)) {
    idle_since_ = glanced_;
    idle_was_shown_ = false;
    return;
  }
  const auto since = std::max(idle_since_, said_);
  if (idle_was_shown_ || seconds_since(since) < patience_.idle_after_s) return;
  idle_was_shown_ = true;
  inspect(kWholeLook, Urgency::kSilence, [this, since](const auto& seen) {
    if (ending_ || engine_over_) return;
    const bool still_idle = seen && is_idle(*seen) && std::max(idle_since_, said_) == since;
    if (!still_idle) {
      if (seen) idle_since_ = loop_.now();
      idle_was_shown_ = false;
      return;
    }
    const std::string headline = show_verdict(
        *seen, fmt::format("no rank has printed, communicated or computed for {:.0f} s",
                           seconds_since(since)));
    if (patience_.end_if_idle) end_stalled(headline);
  });
}

// Looks only once per attempt, because later time-outs are consequences of the first.
void Supervisor::look_at_time_out(int rank) {
  if (std::exchange(looked_at_time_out_, true)) return;
  if (running_ranks_ == 0) return release_timed_out();
  inspect(kLastLook, Urgency::kTimeOut, [this, rank](const auto& seen) {
    if (seen) {
      (void)show_verdict(*seen, fmt::format("rank {} ended with a time-out", rank));
      record_.time_out_was_seen = true;
    }
    release_timed_out();
  });
}

// A rank that times out closes its connections. Ranks that are cut off by that may be reported
// before the rank that timed out, so muster waits a moment for its report.
void Supervisor::look_at_failure(const agent::RankEnd& end) {
  if (end.status == 0) return;
  if (end.timed_out) return look_at_time_out(end.rank);
  if (!end.cut_off) return release_timed_out_unless_looked_at();
  timers_.push_back(after(kTimeOutIsTold, [this] { release_timed_out_unless_looked_at(); }));
}

void Supervisor::release_timed_out_unless_looked_at() {
  if (!looked_at_time_out_) release_timed_out();
}

// Lets ranks that timed out or were cut off end. Until then, muster hides from the engine that they
// have ended.
void Supervisor::release_timed_out() {
  crew_.send_all({.kind = agent::Order::Kind::kSeen});
}

// Stores the inspection and shows its verdict. Returns the headline.
std::string Supervisor::show_verdict(const why::Scene& scene, const std::string& occasion) {
  const why::Verdict verdict = why::judge(scene);
  std::string text = fmt::format("muster: {}\n", occasion);
  const std::string lines = verdict_text(verdict);
  for (std::string_view rest = lines; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    text += fmt::format("muster:   {}\n", rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!folder_.empty()) {
    const auto kept = keep_inspection(folder_, scene, verdict);
    text += kept ? fmt::format("muster:   evidence: {}/{}\n", *kept, kWhyText)
                 : fmt::format("muster:   {}\n", to_text(kept.error()));
  }
  output_.say(text);
  return verdict.headline;
}

}  // namespace muster::run
