#include "run/members.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "hosts/expression.hpp"
#include "sys/first_signal_ignored.hpp"
#include "sys/print.hpp"

namespace muster::run {
namespace {

constexpr double kBootSeconds = 30;  // added to --lost-after

}  // namespace

Members::Members(Stage& stage, std::string spares, double lost_after_s)
    : stage_(stage), spares_text_(std::move(spares)), patience_s_(lost_after_s + kBootSeconds) {}

Result<void> Members::read_spares() {
  if (!spares_.empty() || spares_text_.empty()) return {};
  MUSTER_TRY(spares_, hosts::parse_expression({.text = spares_text_, .name = "--spares"}));
  return {};
}

// At a restart, a signal does not end this process at once, so that the run's record can say that
// the run was stopped.
Result<void> Members::look(const Turn& turn, bool first, Gathered& gathered) {
  stage_.close(gathered.missing);  // first, because the new sessions go to the same hosts
  std::optional<sys::FirstSignalIgnored> until_looked;
  if (!first) until_looked.emplace();
  auto looked = stage_.look(turn, roster_ ? &roster_->members() : nullptr);
  if (!first) {
    until_looked.reset();  // first, so that no signal is ignored after we have asked
    gathered.signal = sys::FirstSignalIgnored::came();
  }
  if (gathered.signal) {
    stage_.close({});
    return {};
  }
  MUSTER_TRY(gathered.look, std::move(looked));
  if (!roster_ && gathered.look.ours_to_restart) {
    roster_.emplace(gathered.look.members, spares_, gathered.look.min_nodes);
  }
  gathered.missing = gathered.look.bad;
  return {};
}

Result<Gathered> Members::gather(const Turn& turn) {
  MUSTER_CHECK(read_spares());
  const bool first = !std::exchange(started_, true) && turn.number == 0;
  Gathered gathered;
  const auto begin = stage_.now();
  for (int waits = 0;;) {
    MUSTER_CHECK(look(turn, first, gathered));
    if (gathered.signal) return gathered;
    // If all hosts have the same error at a restart, it may be temporary, such as a file server
    // that is down.
    const bool all_bad = !first && gathered.missing.empty() && gathered.look.has_errors;
    if (!roster_ || (gathered.missing.empty() && !all_bad)) return gathered;
    if (!all_bad && roster_->replace(gathered.missing)) continue;
    gathered.waited_s = std::chrono::duration<double>(stage_.now() - begin).count();
    if (first || gathered.waited_s > patience_s_) return gathered;
    if (waits++ == 0) say_what_is_missing(gathered);
    stage_.close(gathered.missing);
    gathered.signal = stage_.pause(back_off_s(waits));
    if (gathered.signal) return gathered;
    roster_->look_again();
  }
}

void Members::say_what_is_missing(const Gathered& gathered) const {
  const std::string what =
      gathered.missing.empty()
          ? "on all hosts: " + gathered.look.first_error
          : fmt::format("{}: {}, and no spare host is left", gathered.missing.front().host,
                        gathered.missing.front().why);
  sys::print_err("muster: {}; waiting up to {:.0f} s for it to come back\n", what, patience_s_);
}

void Members::leave(std::span<const BadHost> bad) {
  if (!roster_) return;
  roster_->look_again();
  // If all hosts were lost at once, the launcher's own network has failed, and they may answer
  // again.
  if (bad.size() >= roster_->members().size()) return;
  // Here a host may only be exchanged for a spare. It must not be left out before it has been asked
  // again, because it may be back.
  std::vector<BadHost> some(bad.begin(), bad.end());
  for (BadHost& one : some) one.only_for_spare = true;
  (void)roster_->replace(some);
}

std::vector<std::string> Members::take_changes() {
  return roster_ ? roster_->take_changes() : std::vector<std::string>();
}

}  // namespace muster::run
