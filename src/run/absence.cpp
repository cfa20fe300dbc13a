// What a supervised run makes of silence between this machine and the hosts: a host that is away,
// this machine's network that is away, or this machine that was asleep.
#include <algorithm>

#include <fmt/format.h>

#include "run/supervisor.hpp"

namespace muster::run {
namespace {

constexpr double kSilenceSeconds = 6;  // after which a host is tried over a new connection
constexpr double kTryAgainSeconds = 3;
constexpr double kHostsTell = 30;  // after an absence, for the hosts to tell that the run is over

}  // namespace

// Seconds since our last beat, if that is longer than a busy machine explains, else 0. The clock
// also counts the time for which this machine was suspended.
double Supervisor::stands_still_for() const {
  const double still_s = loop_.uptime() - beat_s_;
  return still_s > kSilenceSeconds ? still_s : 0;
}

// After a Ctrl-Z, or when this machine has slept, the timer of our beats fires before the beats
// that the hosts sent meanwhile are read, so the hosts only seem to be silent.
void Supervisor::notice_absence() {
  const double still_s = stands_still_for();
  if (still_s <= 0) return;
  crew_.hear_all();
  said_ = woke_ = loop_.now();
  away_s_ = still_s;
}

// Whether the hosts have ended the run because they heard nothing from this machine. Events may
// arrive before notice_absence() is called.
bool Supervisor::was_away_too_long() const {
  if (stands_still_for() > patience_.orphan_after_s) return true;
  return away_s_ > patience_.orphan_after_s && seconds_since(woke_) < kHostsTell;
}

std::string Supervisor::absence_text() const {
  return fmt::format(
      "this machine was asleep, or muster was stopped, for {:.0f} s; the hosts wait {:g} s for "
      "muster (--orphan-after) and then end the run",
      std::max(away_s_, stands_still_for()), patience_.orphan_after_s);
}

// Keeps trying to reach a silent host over a new connection, until it answers or counts as lost.
void Supervisor::look_after(std::size_t index, bool is_alone) {
  Host& host = hosts_[index];
  if (host.done || host.lost) return;
  const double silent_s = seconds_since(crew_.heard(index));
  if (is_alone) {
    if (silent_s > std::max(patience_.orphan_after_s, patience_.lost_after_s)) {
      record_.all_silent_s = silent_s;
      return lose(host);
    }
  } else if (std::min(silent_s, seconds_since(alone_)) > patience_.lost_after_s) {
    // When the launcher's own network is back, every host gets lost_after_s to answer.
    return lose(host);
  }
  if (!crew_.connected(index) || silent_s >= kSilenceSeconds) reach_again(index);
}

void Supervisor::reach_again(std::size_t index) {
  Host& host = hosts_[index];
  if (host.done || host.lost || seconds_since(host.tried) < kTryAgainSeconds) return;
  host.tried = loop_.now();
  doubted_.forget(index);
  crew_.rejoin(index, patience_.orphan_after_s, output_.taken(host.name));
}

// Whether all hosts are silent, and at least two of them or the only one since this machine stood
// still. Then the fault is in this machine's network, and the hosts keep their ranks running for
// `orphan_after_s`.
bool Supervisor::alone() const {
  if (engine_over_) return false;
  std::size_t silent = 0;
  bool is_waking = false;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].done || hosts_[i].lost) continue;
    if (seconds_since(crew_.heard(i)) < kSilenceSeconds) return false;
    ++silent;
    is_waking = away_s_ > 0 && crew_.heard(i) <= woke_;
  }
  return silent > 1 || is_waking;
}

}  // namespace muster::run
